#!/usr/bin/env bash
# `npm test`: the linter, the types, the tests without stores, and the store tests of the rooms that changed since main.
# `npm run verify` runs every test; `npx vitest run <file>` runs one file.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
provide_redis
install_packages
start_lint
check 'build' npm run --silent build
start_check 'types' npm run --silent typecheck
check 'tests' vitest run --mode changed "$@"
await_checks
finish
