import { copyFile, writeFile } from "node:fs/promises";
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
 * which both can take them. Each declaration for `import` passes them on, except those that are made of tRPC's: it has each
 * of its types twice, and TanStack Query's adapter takes only a client of the same kind as itself.
 */
async function writeDeclarationsForImport(): Promise<void> {
  for (const entry of ["index", "node"]) {
    await writeFile(new URL(`${entry}.d.ts`, dist), `export * from "./${entry}.cjs";\n`);
  }
  await copyFile(new URL("trpc.d.cts", dist), new URL("trpc.d.ts", dist));
}

/** Leaves little in `trpc.d.cts`. Declarations are chunks whose names end so. */
const declarationChunks = [
  { name: "types.d", test: /generated.types\.d/, priority: 1 },
  { name: "router.d", test: /generated.router\.d/ },
];

export default defineConfig([
  { ...shared, format: "esm", dts: false },
  {
    ...shared,
    format: "cjs",
    clean: false,
    // TypeScript 7 has no API for other generators of declarations; oxc needs none, because every export is annotated.
    dts: { oxc: true },
    // Short names for what chunks take from each other would be 1.4 kB more: each type has to be renamed again.
    outputOptions: { comments: false, minifyInternalExports: false, codeSplitting: { groups: declarationChunks } },
    hooks: { "build:done": writeDeclarationsForImport },
  },
]);
