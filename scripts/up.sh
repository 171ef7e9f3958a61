#!/usr/bin/env bash
# `npm run up`: installs, builds and starts everything on one machine; needs only Node.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

require_node
[ -n "${REDIS_URL:-}" ] || provide_redis
install_packages
build
say 'starting'
exec node services/standalone/dist/main.js
