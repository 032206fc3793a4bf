import { build } from "vite";

/** Builds the console into the folder that is the only argument. `npm start` and `npm run build` run it. */
const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error("Usage: node console/build/site.ts FOLDER");
// The same whoever builds it: with the `NODE_ENV` of a test runner, React would be its development build.
process.env.NODE_ENV = "production";
await build({ root: new URL("..", import.meta.url).pathname, logLevel: "warn", build: { outDir, emptyOutDir: true } });
