#!/usr/bin/env bash
# Writes the secrets of docker-compose.yml to .env (or the file named), where Docker Compose reads them. Existing values are kept. If
# everybody has access to the file, only its owner keeps it; access that the group alone has stays.
set -euo pipefail
file=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/.env}
umask 077
touch "$file"
if [ -n "$(find -L "$file" \( -perm -004 -o -perm -002 \))" ]; then
  if chmod go-rwx "$file" 2>/dev/null; then
    echo "every user had access to $file: now only its owner has, not its group either" >&2
  else
    echo "warning: every user has access to $file, and only its owner can change that: chmod go-rwx $file" >&2
  fi
fi
[ -z "$(tail -c 1 "$file")" ] || echo >>"$file"
for name in REDIS_PASSWORD CLICKHOUSE_PASSWORD INSTANCE_KEY ADMIN_KEY GRAFANA_PASSWORD; do
  grep -q "^$name=" "$file" || printf '%s=%s\n' "$name" "$(od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n')" >>"$file"
done
