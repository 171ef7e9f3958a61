# shellcheck shell=bash
# Functions that install what the scripts need: Node packages, Redis, a browser. To be sourced; works with the bash 3.2 of macOS.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1
PATH="$root/node_modules/.bin:$PATH"

say() { printf '· %s\n' "$*"; }
fail() { printf 'waymark: %s\n' "$*" >&2; exit 1; }

# Runs a command; shows its output only if it fails.
quietly() {
  local output status=0
  output=$(mktemp)
  "$@" >"$output" 2>&1 </dev/null || status=$?
  [ "$status" -eq 0 ] || cat "$output" >&2
  rm -f "$output"
  return "$status"
}

require_node() {
  command -v node >/dev/null 2>&1 || fail 'Node.js 20.19, 22.12 or 24 is needed, or a newer one, and no node is on the PATH.'
  # As `engines` of package.json: the odd releases between lack what the services need.
  node -e 'const [major, minor] = process.versions.node.split(".");
    process.exit(major >= 24 || (major == 22 && minor >= 12) || (major == 20 && minor >= 19) ? 0 : 1)' ||
    fail "Node.js 20.19, 22.12 or 24 is needed, or a newer one; this is $(node -v)."
}

# Runs `npm ci` unless node_modules already contains what the lockfile names.
install_packages() {
  node scripts/packages-installed.mjs && return
  say 'installing packages'
  quietly npm ci --loglevel=error || fail 'npm ci failed; its output is above. (Packages missing from the lockfile: node scripts/complete-lock.mjs)'
}

redis_binary() { command -v redis-server || command -v valkey-server; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_be_root() { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }

install_redis() {
  if command -v apt-get >/dev/null 2>&1 && may_be_root; then
    say 'installing redis-server with apt-get'
    quietly as_root apt-get update || return 1
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server
  elif command -v brew >/dev/null 2>&1; then
    say 'installing redis with brew'
    quietly brew install redis
  else
    return 1
  fi
}

# Ensures that redis-server (or valkey-server) is on the PATH, and installs it if necessary.
provide_redis() {
  redis_binary >/dev/null || { install_redis && redis_binary >/dev/null; } ||
    fail 'Redis is missing: install redis-server or valkey-server (Debian: apt-get install redis-server; macOS: brew install redis), or set REDIS_URL.'
}

chromium_binary() {
  command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome
}

install_chromium() {
  command -v apt-get >/dev/null 2>&1 && may_be_root || return 1
  say 'installing chromium with apt-get'
  quietly as_root apt-get update || return 1
  # The shell without windows takes a third less CPU; not every release of Debian has it.
  local package=chromium-headless-shell
  apt-cache show "$package" >/dev/null 2>&1 || package=chromium
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"
}

# Ensures that Chromium is available; without it the browser tests are skipped.
provide_chromium() {
  chromium_binary >/dev/null || { install_chromium && chromium_binary >/dev/null; } ||
    say 'no Chromium here and none could be installed (Debian: apt-get install chromium): the browser tests are skipped'
}

build() {
  say 'building'
  npm run --silent build || fail 'the build failed; the errors are above.'
}

# Where the proxies for the tests of their configuration are unpacked. They are not installed, because the packages start servers on port 80.
proxies=$root/node_modules/.cache/proxies
find_proxies() { PATH="$PATH:/usr/sbin:$proxies/usr/sbin:$proxies/usr/bin"; }

# Ensures that the proxies are available; call `find_proxies` before.
provide_proxies() {
  command -v nginx >/dev/null && command -v caddy >/dev/null && return
  command -v apt-get >/dev/null 2>&1 && unpack_proxies "$proxies" ||
    say 'no nginx or Caddy here and none could be unpacked (Debian: nginx, caddy): the tests of the proxies are skipped'
}

unpack_proxies() {
  local folder=$1 package
  say 'unpacking nginx and caddy'
  mkdir -p "$folder" && cd "$folder" || return 1
  if ! quietly apt-get download nginx caddy; then
    may_be_root && quietly as_root apt-get update && quietly apt-get download nginx caddy || { cd "$root"; return 1; }
  fi
  for package in ./*.deb; do dpkg-deb -x "$package" . || break; done
  rm -f ./*.deb
  cd "$root"
}

# Names of failed checks. `check` runs a check and continues; `finish` ends the script.
broken=()
started=()
check_pids=()
check_outputs=node_modules/.cache/checks

check() {
  local name=$1
  shift
  say "$name"
  "$@" || broken+=("$name")
}

# Starts a check in the background; `await_checks` prints its output and notes its failure.
start_check() {
  local name=$1
  shift
  mkdir -p "$check_outputs"
  "$@" >"$check_outputs/${#started[@]}" 2>&1 &
  started+=("$name")
  check_pids+=($!)
}

await_checks() {
  local index
  for index in "${!started[@]}"; do
    say "${started[$index]}"
    wait "${check_pids[$index]}" || broken+=("${started[$index]}")
    cat "$check_outputs/$index"
  done
  started=()
  check_pids=()
}

# The linters; they need no build and run beside it.
start_lint() {
  start_check 'style (biome)' biome check --error-on-warnings .
  start_check 'direction of imports' npm run --silent check:imports
  start_check 'dead code (knip)' knip --no-progress
  start_check 'references' node scripts/check-references.mjs
}

finish() {
  [ "${#broken[@]}" -eq 0 ] || fail "failed: $(printf '%s; ' "${broken[@]}")"
}
