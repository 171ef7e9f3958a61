#!/bin/sh
# Fills the empty data directory of a Redis from a copy of its data, as `redis-cli --rdb` makes it:
#   sh restore.sh <copy> <directory>
# Run it as the owner of the directory. The copy stays as it is.
# A Redis with `appendonly yes` reads its append-only file and no dump. So a server that nobody else can reach loads the copy and writes
# the append-only file; then the dump is removed.
set -eu

fail() {
  echo "$1" >&2
  exit 1
}

if [ $# -ne 2 ] || ! [ -s "$1" ] || ! [ -d "$2" ]; then
  fail 'usage: sh restore.sh <copy> <directory of Redis>, which both have to exist'
fi
copy=$1
directory=$(cd "$2" && pwd)
for name in dump.rdb appendonlydir appendonly.aof; do
  if [ -e "$directory/$name" ]; then fail "nothing is restored: $directory has a $name. Move it away first"; fi
done
if ! [ -O "$directory" ]; then fail "nothing is restored: $directory belongs to another user, who has to run this"; fi
unset REDISCLI_AUTH

socket=$directory/restore.sock
server=
give_up() {
  if [ -n "$server" ]; then
    kill -9 "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$directory/dump.rdb" "$directory/appendonlydir" "$socket"
  echo "nothing is restored: $directory is as it was, and so is the copy" >&2
}
trap give_up EXIT
trap 'exit 1' HUP INT TERM

cp "$copy" "$directory/dump.rdb"
redis-server --port 0 --unixsocket "$socket" --unixsocketperm 700 --dir "$directory" --dbfilename dump.rdb \
  --appendonly no --save '' --loglevel warning &
server=$!

ask() { redis-cli -s "$socket" "$@" 2>/dev/null | tr -d '\r'; }
says() { ask INFO persistence | grep -qx "$1"; }
wait_a_second() {
  kill -0 "$server" 2>/dev/null || fail 'redis-server has ended'
  sleep 1
}

# Until it has read the whole copy, it answers LOADING.
until [ "$(ask PING)" = PONG ]; do wait_a_second; done
[ "$(ask CONFIG SET appendonly yes)" = OK ] || fail 'redis-server refuses to write an append-only file'
until says aof_rewrite_scheduled:0 && says aof_rewrite_in_progress:0; do wait_a_second; done
says aof_enabled:1 && says aof_last_bgrewrite_status:ok && ls "$directory"/appendonlydir/*.base.rdb >/dev/null ||
  fail 'redis-server could not write its append-only file'

keys=$(ask DBSIZE)
rm "$directory/dump.rdb"
ask SHUTDOWN NOSAVE
wait "$server"
trap - EXIT
echo "restored $keys keys"
