import { basename } from "node:path";
import react from "@vitejs/plugin-react";
import { defaultClientConditions, defineConfig } from "vite";
import { limits } from "./build/limits.ts";
import { startingPage } from "./build/startingPage.ts";

/** The service that the development server (`npx vite console`) forwards calls to. */
const service = process.env.REBID_URL ?? "http://localhost:3000";

export default defineConfig({
  base: "/app/",
  // The SDK's sources, so that it need not be built first.
  resolve: {
    conditions: ["@rebid/source", ...defaultClientConditions],
    // The router's stand-in for what this React has.
    alias: { "use-sync-external-store/shim/with-selector": "use-sync-external-store/with-selector" },
  },
  plugins: [
    react(),
    limits(new URL("../openapi/openapi.json", import.meta.url)),
    startingPage(new URL("../server/brand/wordmark.svg", import.meta.url)),
  ],
  // The names of the files tell the classes apart already: hashes cost 0.9 kB of each first page.
  css: { modules: { generateScopedName: (name, path) => `${basename(path, ".module.css")}-${name}` } },
  build: {
    target: "es2022",
    // The Content-Security-Policy allows no `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file of styles, one of libraries and one of what pages share. In files that Vite chooses, a task's page took 42
    // requests instead of 15, and 9 kB more.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            // `marked` and `uqr` are loaded only where there is Markdown, or a code to scan.
            {
              name: "libraries",
              test: /node_modules\/(?!(?:marked|uqr)\/)|client-sdk\/src|rolldown\/runtime|vite\/preload/,
            },
            // What few pages share is with them.
            {
              name: "parts",
              test: /console\/src\/(?:api|parts)\/(?!markdownParts|readMarkdown|push\.|ledgerRow|balanceChart|niceCeiling|secret|developerTabs|linkToken|pendingTopup)|console\/src\/limits|virtual:limits/,
              minShareCount: 2,
            },
            {
              name: "task",
              test: /console\/src\/task\/(?:access|bidNotes|bids|decisions|fee|talk|taskSide|whileOpen)\./,
            },
            {
              name: "wallet",
              test: /console\/src\/(?:pages\/wallet\/index|parts\/(?:ledgerRow|balanceChart|niceCeiling))\./,
            },
            { name: "papers", test: /console\/src\/(?:papers\/|api\/pendingTopup)/ },
            { name: "files", test: /console\/src\/task\/(?:delivered|files|now|whatNow)\./ },
            { name: "sending", test: /console\/src\/task\/(?:briefFiles|dropZone|putFile)\./ },
          ],
        },
      },
    },
  },
  server: { proxy: { "/trpc": service } },
});
