import { existsSync } from "node:fs";
import { type RequestHandler, Router } from "express";
import { sessionCookieName } from "../auth/sessions.ts";
import type { Services } from "../services.ts";
import { manifestFile } from "../sites/manifest.ts";
import { consoleSite, folderOf } from "../sites/sites.ts";
import { serveSite } from "./site.ts";

/** Pages that have a place in the console. Without a built console, and for programs, they are what they were. */
const places: Record<string, string> = {
  "/": "/app",
  "/topup/done": "/app/wallet?topup=done",
  "/topup/cancelled": "/app/wallet/top-up?topup=cancelled",
  "/onboarding/done": "/app/wallet/payouts?onboarding=done",
  "/onboarding/expired": "/app/wallet/payouts?onboarding=expired",
};

/**
 * Serves the console for people at `/app`, where every path that is no file is a page of it, and leads browsers there.
 * Besides this service, its pages may reach the object store, which takes and shows people's files.
 */
export function serveConsole(
  { storage, settings }: Pick<Services, "storage" | "settings">,
  folder = folderOf(consoleSite),
): RequestHandler {
  const origins = [storage.origin];
  const visitors = { page: "visitor.html", cookie: sessionCookieName(settings.publicUrl) };
  const options = { base: "/app", fallback: "index.html", visitors, connect: origins, media: origins, folder };
  return Router()
    .get(Object.keys(places), (request, response, next) => {
      const place = places[request.path];
      const isBrowser = request.headers.accept?.includes("text/html") === true;
      if (place === undefined || !isBrowser || !existsSync(manifestFile(folder))) return next();
      response.vary("Accept").redirect(303, place);
    })
    .use(serveSite(consoleSite, options));
}
