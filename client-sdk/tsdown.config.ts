import { copyFile, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { defineConfig, type UserConfig } from "tsdown";

/** One method is one line of code, in JavaScript as in TypeScript: this chunk needs no source map. */
const operations = { name: "operations", test: /generated.namespaces\.ts/ };
/** Leaves little in `trpc.d.cts`. Declarations are chunks whose names end so. */
const declarationChunks = [
  { name: "types.d", test: /generated.types\.d/, priority: 1 },
  { name: "router.d", test: /generated.router\.d/ },
];

const shared: UserConfig = {
  entry: ["src/index.ts", "src/trpc.ts", "src/node.ts"],
  platform: "neutral",
  deps: { neverBundle: /^node:/ },
  target: "es2022",
  fixedExtension: false,
  // People read this code in stacks and step through it, so it is not minified.
  sourcemap: true,
  // Comments are in the declarations and in the sources.
  outputOptions: { comments: false, codeSplitting: { groups: [operations] } },
};

const dist = new URL("dist/", import.meta.url);

/** The package has the sources once, in `src`; inside each map, for ESM and for CommonJS, they would be 40 kB more. */
async function takeSourcesOutOfMaps(extension: ".js" | ".cjs"): Promise<void> {
  // The other format is being written at the same time.
  const own = (await readdir(dist)).filter((name) => name.endsWith(extension) || name.endsWith(`${extension}.map`));
  for (const name of own) {
    const file = new URL(name, dist);
    if (name.startsWith("operations-")) {
      if (name.endsWith(".map")) await rm(file);
      else await writeFile(file, (await readFile(file, "utf8")).replace(/\n\/\/# sourceMappingURL=.*\n*$/, "\n"));
    } else if (name.endsWith(".map")) {
      const { sourcesContent: _, ...map } = JSON.parse(await readFile(file, "utf8"));
      await writeFile(file, JSON.stringify(map));
    }
  }
}

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

export default defineConfig([
  { ...shared, format: "esm", dts: false, hooks: { "build:done": () => takeSourcesOutOfMaps(".js") } },
  {
    ...shared,
    format: "cjs",
    clean: false,
    // TypeScript 7 has no API for other generators of declarations; oxc needs none, because every export is annotated.
    dts: { oxc: true, sourcemap: false },
    // Short names for what chunks take from each other would be 1.4 kB more: each type has to be renamed again.
    outputOptions: {
      comments: false,
      minifyInternalExports: false,
      codeSplitting: { groups: [...declarationChunks, operations] },
    },
    hooks: {
      async "build:done"() {
        await takeSourcesOutOfMaps(".cjs");
        await writeDeclarationsForImport();
      },
    },
  },
]);
