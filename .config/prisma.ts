// `prisma generate`, `validate` and `format` need no engine, but Prisma downloads one unless this names a file.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

export default {
  // The directory: schema.prisma and models/ together.
  schema: "../prisma",
  migrations: { path: "../prisma/migrations" },
  datasource: { url: process.env.DATABASE_URL ?? "" },
};
