import { Router } from "express";
import type { AppRouter } from "../router.ts";
import type { Services } from "../services.ts";
import { openApiDocument } from "./openApi.ts";

/** The contract as a document, made at the first request for it. */
export function documentation(router: AppRouter, { settings }: Services): Router {
  let document: unknown;
  return Router().get("/openapi.json", (_request, response) => {
    document ??= openApiDocument(router, settings.publicUrl);
    response.json(document);
  });
}
