#!/usr/bin/env bash
# `npm run verify`: runs all checks, against real stores. The last line is `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

report=node_modules/.cache/test-report.json
rm -f "$report"

require_node
(provide_redis && provide_chromium) &
system_packages=$!
install_packages
wait "$system_packages" || exit 1
provide_proxies
start_lint
check 'build' npm run --silent build
start_check 'types' npm run --silent typecheck
check 'tests' vitest run --mode verify "$@"
await_checks

[ "${#broken[@]}" -eq 0 ] || printf '\nfailed: %s\n' "$(printf '%s; ' "${broken[@]}")"
node scripts/test-summary.mjs "$report" "${#broken[@]}"
