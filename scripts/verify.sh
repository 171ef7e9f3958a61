#!/usr/bin/env bash
# `npm run verify`: every check there is, against real stores. Closes with one plain line, `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

report=$(mktemp)
trap 'rm -f "$report"' EXIT
broken=()

check() {
  local name=$1
  shift
  say "$name"
  "$@" || broken+=("$name")
}

require_node
provide_redis
provide_chromium
install_packages
provide_proxies
check 'build' tsc -b
check 'types of the tests' tsc -p tsconfig.test.json
check 'style (biome)' biome check --error-on-warnings .
check 'direction of imports' npm run --silent check:imports
check 'dead code (knip)' knip --no-progress
say 'tests'
vitest run --reporter=default --reporter=json --outputFile.json="$report" "$@" || broken+=('tests')

[ "${#broken[@]}" -eq 0 ] || printf '\nfailed: %s\n' "$(printf '%s; ' "${broken[@]}")"
node scripts/test-summary.mjs "$report" "${#broken[@]}"
