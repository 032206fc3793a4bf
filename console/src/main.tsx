import { QueryClientProvider } from "@tanstack/react-query";
import { createRouter, RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/queryClient.ts";
import { followOtherTabs } from "./api/session.ts";
import { ErrorPage, LoadingPage, NotFoundPage } from "./parts/states.tsx";
import { routeTree } from "./routes.ts";
import "./styles/base.css";

const router = createRouter({
  routeTree,
  basepath: "/app",
  context: { queryClient },
  defaultPreload: "intent",
  // Query decides what is fresh.
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: ErrorPage,
  defaultNotFoundComponent: NotFoundPage,
  defaultPendingComponent: LoadingPage,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

followOtherTabs();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
