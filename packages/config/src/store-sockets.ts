import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Paths of the unix sockets of the stores that Waymark starts itself. Only this user can enter their directory. */
export interface StoreSockets {
  readonly redis: string;
  readonly clickhouse: string;
}

/** Maximum length of a socket's path on macOS; on Linux it is four more. A longer path is truncated without an error. */
const PATH_BYTES_MAX = 103;
const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;
const ACCESS_OF_OTHERS = 0o077;
const STICKY = 0o1000;

function socketsIn(directory: string): StoreSockets {
  return { redis: join(directory, 'redis.sock'), clickhouse: join(directory, 'clickhouse.sock') };
}

/** Whether no other user can rename or replace what this user makes in `directory`. */
function isSafeParent(directory: string): boolean {
  const stat = statSync(directory, { throwIfNoEntry: false });
  if (stat === undefined || (stat.uid !== ROOT && stat.uid !== process.getuid?.())) return false;
  return (stat.mode & WRITABLE_BY_OTHERS) === 0 || (stat.mode & STICKY) !== 0;
}

/** Makes a directory that only this user can enter, or closes an existing one to others. @throws Error when that is not possible */
function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // Not `statSync`: a link may lead to a directory that another user can replace.
  const found = lstatSync(directory);
  if (!found.isDirectory() || found.uid !== process.getuid?.())
    throw new Error(`${directory}: is no directory of this user, so the stores cannot listen in it: remove it`);
  if ((found.mode & ACCESS_OF_OTHERS) === 0) return;
  chmodSync(directory, 0o700);
  if ((lstatSync(directory).mode & ACCESS_OF_OTHERS) !== 0)
    throw new Error(`${directory}: the file system does not close it to other users`);
}

/** Rejects when no socket can be made in `directory`; some file systems do not support sockets. */
async function tryToListen(directory: string): Promise<void> {
  const path = join(directory, `${process.pid}.sock`);
  rmSync(path, { force: true });
  const server = createServer().listen(path);
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

/** The path of a directory for sockets in `parent`, different for each user and DATA_DIR. */
function temporaryPath(parent: string, dataDir: string): string {
  const name = createHash('sha256').update(`${process.getuid?.()} ${dataDir}`).digest('hex').slice(0, 16);
  return join(parent, `waymark-${name}`);
}

/**
 * Makes the directory of the sockets: `DATA_DIR/run`. If its path is too long, its file system does not support sockets, or other users can
 * write to DATA_DIR, it is in the system's directory for temporary files instead.
 *
 * @param dataDir absolute
 * @throws Error when none of these directories can be used, for example because another user has made them
 */
export async function prepareStoreSockets(dataDir: string): Promise<StoreSockets> {
  const temporary = [...new Set([tmpdir(), '/tmp'])].map((parent) => ({
    parent,
    path: temporaryPath(parent, dataDir),
  }));
  let reason: unknown;
  for (const { parent, path } of [{ parent: dataDir, path: join(dataDir, 'run') }, ...temporary]) {
    const sockets = socketsIn(path);
    if (Object.values(sockets).some((socket) => Buffer.byteLength(socket) > PATH_BYTES_MAX)) continue;
    if (!isSafeParent(parent)) continue;
    try {
      makePrivate(path);
      await tryToListen(path);
      return sockets;
    } catch (err) {
      reason = err;
    }
  }
  throw new Error(
    `DATA_DIR ${dataDir}: its stores have no place for their sockets (${reason instanceof Error ? reason.message : 'its path is too long'})`,
  );
}
