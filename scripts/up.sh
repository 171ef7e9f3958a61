#!/usr/bin/env bash
# `npm run up`: everything on one machine, from nothing but Node.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
[ -n "${REDIS_URL:-}" ] || provide_redis
install_packages
build
say 'starting'
exec node services/standalone/dist/main.js
