#!/usr/bin/env bash
# `npm run bench [-- name … [--option value …]]`: runs the benchmarks of test/bench one after another; use a quiet machine. The
# first option and everything after it is passed to each benchmark.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
build
names=()
while [ "$#" -gt 0 ] && [ "${1#--}" = "$1" ]; do
  names+=("$1")
  shift
done
if [ "${#names[@]}" -eq 0 ]; then
  for file in test/bench/*.bench.ts; do
    names+=("$(basename "$file" .bench.ts)")
  done
fi
for name in "${names[@]}"; do
  say "bench: $name"
  tsx "test/bench/$name.bench.ts" "$@"
done
