#!/bin/sh
# Fills the empty data directory of a Redis from a copy of its data, as `redis-cli --rdb` makes it:
#   sh restore.sh <copy> <directory>
# Run it as the owner of the directory. The copy stays as it is.
# A Redis with `appendonly yes` reads its append-only file and no dump. So a server that nobody else can reach loads the copy in a directory
# of its own and writes the append-only file there; only when that is complete it is moved.
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
for work in "$directory"/restoring-*; do
  if [ -e "$work" ]; then fail "nothing is restored: $work is of an earlier run that was killed, and has the data. Remove it first"; fi
done
if ! [ -O "$directory" ]; then fail "nothing is restored: $directory belongs to another user, who has to run this"; fi
unset REDISCLI_AUTH

work=$(mktemp -d "$directory/restoring-XXXXXX")
socket=$work/redis.sock
server=
give_up() {
  if [ -n "$server" ]; then
    # The process that writes the log would live on without its server.
    cli CONFIG SET appendonly no >/dev/null || true
    kill -9 "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
  echo "nothing is restored: $directory is as it was, and so is the copy" >&2
}
trap give_up EXIT
trap 'exit 1' HUP INT TERM

cp "$copy" "$work/dump.rdb"
redis-server --port 0 --unixsocket "$socket" --unixsocketperm 700 --dir "$work" --dbfilename dump.rdb \
  --appendonly no --save '' --loglevel warning &
server=$!

cli() { redis-cli -s "$socket" "$@" 2>/dev/null | tr -d '\r'; }
reports() { cli INFO persistence | grep -qx "$1"; }
wait_a_second() {
  kill -0 "$server" 2>/dev/null || fail 'redis-server has ended'
  sleep 1
}

# Until it has read the whole copy, it answers LOADING.
until [ "$(cli PING)" = PONG ]; do wait_a_second; done
[ "$(cli CONFIG SET appendonly yes)" = OK ] || fail 'redis-server refuses to write an append-only file'
until reports aof_rewrite_scheduled:0 && reports aof_rewrite_in_progress:0; do
  # Redis would retry for ever.
  if reports aof_last_bgrewrite_status:err; then fail 'redis-server could not write its append-only file'; fi
  wait_a_second
done
reports aof_enabled:1 && reports aof_last_bgrewrite_status:ok || fail 'redis-server could not write its append-only file'
ls "$work"/appendonlydir/*.base.rdb >/dev/null 2>&1 || fail 'redis-server has written no appendonlydir: Redis 7 or later is needed'

keys=0
for of_database in $(cli INFO keyspace | sed -n 's/^db[0-9]*:keys=\([0-9]*\),.*/\1/p'); do keys=$((keys + of_database)); done
cli SHUTDOWN NOSAVE
wait "$server"
server=
mv "$work/appendonlydir" "$directory/"
trap - EXIT
rm -rf "$work"
echo "restored $keys keys"
