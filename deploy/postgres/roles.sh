#!/bin/sh
# Makes the service's role in a new database, for compose.yaml. It owns nothing: `migrate` grants it what it needs.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$SERVICE_PASSWORD" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE rebid_service LOGIN PASSWORD :'password';
SQL
