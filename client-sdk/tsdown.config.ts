import { writeFile } from "node:fs/promises";
import { defineConfig, type UserConfig } from "tsdown";

const shared: UserConfig = {
  entry: ["src/index.ts", "src/trpc.ts", "src/node.ts"],
  platform: "neutral",
  deps: { neverBundle: /^node:/ },
  target: "es2022",
  fixedExtension: false,
  // Documentation is in the declarations. The names of functions and classes stay, for whoever reads a stack.
  minify: { compress: { keepNames: { function: true, class: true } }, mangle: { toplevel: false } },
  outputOptions: { comments: false },
};

const dist = new URL("dist/", import.meta.url);

/**
 * The types are the same for `import` and `require`, and a third of the package: so they are in it once, as CommonJS, from
 * which both can take them. Each declaration for `import` passes them on.
 */
async function writeDeclarationsForImport(): Promise<void> {
  for (const entry of ["index", "trpc", "node"]) {
    await writeFile(new URL(`${entry}.d.ts`, dist), `export * from "./${entry}.cjs";\n`);
  }
}

export default defineConfig([
  { ...shared, format: "esm", dts: false },
  {
    ...shared,
    format: "cjs",
    clean: false,
    // TypeScript 7 has no API for other generators of declarations; oxc needs none, because every export is annotated.
    dts: { oxc: true },
    hooks: { "build:done": writeDeclarationsForImport },
  },
]);
