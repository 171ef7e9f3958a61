#!/usr/bin/env bash
# `npm run faults [-- file …]`: runs the fault tests in their long form and writes the report. `npm run verify` runs the short form.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
build
if [ "$#" -eq 0 ]; then
  # Beside the fault tests: every test of properties that makes fewer rounds in `npm run verify`. Paths have no spaces.
  # shellcheck disable=SC2046
  set -- test/faults test/hostile $(grep -rl --include='*.test.ts' 'rounds(' packages/*/test services/*/test)
fi
exec vitest run --mode faults "$@"
