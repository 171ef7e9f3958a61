#!/usr/bin/env bash
# `npm run faults [-- file …]`: runs the fault tests in their long form and writes the report. `npm run verify` runs the short form.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
build
[ "$#" -gt 0 ] || set -- test/faults test/hostile
exec vitest run --mode faults "$@"
