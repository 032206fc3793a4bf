# Removes from an installation for production what the service never loads: 210 of 399 MB.
set -eu
cd "$(dirname "$0")/.."

# The runtime itself stays, as runtime/node. Beside it are copies that the npm package makes of it: 68 MB.
mkdir -p runtime
cp node_modules/node/bin/node runtime/node
rm -r node_modules/node node_modules/.bin

# Compilers: only peers of packages that can do without, 31 MB; and types, which Node strips: 50 MB with source maps.
rm -rf node_modules/typescript node_modules/@typescript node_modules/@types
find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete

# Prisma's compilers of queries for other databases than PostgreSQL, and for other module systems: 60 MB.
find node_modules/@prisma/client/runtime -type f ! -name 'client.*' ! -name 'query_compiler_fast_bg.postgresql.*mjs' -delete
