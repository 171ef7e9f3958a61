#!/usr/bin/env bash
# `npm run verify`: runs all checks, against real stores. The last line is `N passed, N failed`.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

report=node_modules/.cache/test-report.json
first_report=node_modules/.cache/first-test-report.json
unhandled_errors=node_modules/.cache/unhandled-errors
rm -f "$report" "$first_report" "$unhandled_errors"

# Runs the tests, and a few files that failed once more with nothing beside them; see failed-files.mjs.
run_tests() {
  vitest run --mode verify "$@" && return
  local failed
  failed=$(node scripts/failed-files.mjs "$report" "$unhandled_errors") || return 1
  await_checks
  mv "$report" "$first_report"
  # shellcheck disable=SC2086
  say "again, alone:$(printf ' %s' $failed)"
  # shellcheck disable=SC2086
  vitest run --mode verify --maxWorkers 1 $failed
}

require_node
(provide_redis && provide_chromium) &
system_packages=$!
install_packages
wait "$system_packages" || exit 1
find_proxies
provide_proxies &
unpacking_proxies=$!
start_lint
check 'build' npm run --silent build
wait "$unpacking_proxies"
start_check 'types' npm run --silent typecheck
check 'tests' run_tests "$@"
await_checks

[ "${#broken[@]}" -eq 0 ] || printf '\nfailed: %s\n' "$(printf '%s; ' "${broken[@]}")"
if [ -e "$first_report" ]; then
  node scripts/test-summary.mjs "$first_report" "${#broken[@]}" "$report"
else
  node scripts/test-summary.mjs "$report" "${#broken[@]}"
fi
