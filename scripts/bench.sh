#!/usr/bin/env bash
# `npm run bench [name …]`: the measurements of test/bench, one after another on a quiet machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
build
if [ "$#" -eq 0 ]; then
  for file in test/bench/*.bench.ts; do
    set -- "$@" "$(basename "$file" .bench.ts)"
  done
fi
for name in "$@"; do
  say "bench: $name"
  tsx "test/bench/$name.bench.ts"
done
