import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { MoveEndpoint } from '@waymark/clickhouse';
import { embeddedSocketUrl, newEmbeddedPassword, startEmbeddedClickHouse } from '@waymark/clickhouse-embedded';
import { DataDirInUseError, lockDataDir, prepareStoreSockets } from '@waymark/config';
import { CommandError } from '../command-error.js';
import type { Target } from '../stores.js';

const storeDirectory = ({ settings }: Target) => join(settings.dataDir, 'clickhouse');

/** Locks DATA_DIR against stacks and backups: a backup of files that a running store changes would be inconsistent. @throws CommandError */
function lockStore(target: Target) {
  const { dataDir } = target.settings;
  if (!existsSync(storeDirectory(target)))
    throw new CommandError(`there is no embedded store in ${dataDir}: set DATA_DIR, or CLICKHOUSE_URL`);
  try {
    return lockDataDir(dataDir, 'move');
  } catch (err) {
    throw err instanceof DataDirInUseError ? new CommandError(err.message) : err;
  }
}

async function startStore(target: Target, password: string, socket: string) {
  const dataDir = storeDirectory(target);
  const { clickhouseSessions: sessions } = target.settings;
  try {
    return await startEmbeddedClickHouse({ dataDir, socket, sessions, password, stdio: 'ignore' });
  } catch (err) {
    const reason = err instanceof Error ? err.message : String(err);
    throw new CommandError(`the store in ${dataDir} cannot be opened (${reason}): does another process use it?`);
  }
}

/** Runs `work` with the database of this installation. The embedded store is started for it, and stopped afterwards. */
export async function withSource<T>(target: Target, work: (source: MoveEndpoint) => Promise<T>): Promise<T> {
  const { clickhouseUrl: url, clickhouseDatabase: database, clickhouseCluster: cluster } = target.settings;
  if (url !== undefined) {
    const { clickhouseUser: user, clickhousePassword: password } = target.settings;
    return work({ connection: { url, user, password, database }, cluster });
  }
  const lock = lockStore(target);
  try {
    const password = newEmbeddedPassword();
    const { clickhouse: socket } = await prepareStoreSockets(target.settings.dataDir);
    const store = await startStore(target, password, socket);
    try {
      return await work({ connection: { url: embeddedSocketUrl(socket, password), database } });
    } finally {
      await store.stop();
    }
  } finally {
    lock.release();
  }
}
