import { defineConfig } from "tsdown";

export default defineConfig({
  entry: ["src/index.ts", "src/trpc.ts", "src/node.ts"],
  format: ["esm", "cjs"],
  platform: "neutral",
  target: "es2022",
  // TypeScript 7 has no API for other generators of declarations; oxc needs none, because every export is annotated.
  dts: { oxc: true },
  fixedExtension: false,
});
