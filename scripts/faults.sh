#!/usr/bin/env bash
# `npm run faults [-- file …]`: the fault tests in their long form, with a report. `npm run verify` runs the short form of each.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
build
[ "$#" -gt 0 ] || set -- test/faults test/hostile
exec vitest run --mode faults "$@"
