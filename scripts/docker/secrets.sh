#!/usr/bin/env bash
# Writes the secrets of docker-compose.yml to .env (or the file named), where Docker Compose reads them. Existing values are kept; access of
# other users to the file is removed.
set -euo pipefail
file=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.env}
umask 077
touch "$file"
chmod go-rwx "$file"
[ -z "$(tail -c 1 "$file")" ] || echo >>"$file"
for name in REDIS_PASSWORD CLICKHOUSE_PASSWORD INSTANCE_KEY ADMIN_KEY GRAFANA_PASSWORD; do
  grep -q "^$name=" "$file" || printf '%s=%s\n' "$name" "$(od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n')" >>"$file"
done
