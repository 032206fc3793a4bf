import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";
import { limits } from "./build/limits.ts";
import { startingPage } from "./build/startingPage.ts";

/** The service that the development server (`npx vite console`) forwards calls to. */
const service = process.env.REBID_URL ?? "http://localhost:3000";

export default defineConfig({
  base: "/app/",
  // The SDK's sources, so that it need not be built first.
  resolve: { conditions: ["@rebid/source", ...defaultClientConditions] },
  plugins: [
    react(),
    limits(new URL("../openapi/openapi.json", import.meta.url)),
    startingPage(new URL("../server/brand/wordmark.svg", import.meta.url)),
  ],
  build: {
    target: "es2022",
    // The Content-Security-Policy allows no `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/trpc": service } },
});
