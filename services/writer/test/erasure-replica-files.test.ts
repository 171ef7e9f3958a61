import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { createTestDatabase, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

const CANARY = 'canary4r';
const PASSWORD = 'of-both';

/** Whether the append-only file of a server has the canary. */
function hasCanary({ dataDir }: TestRedis): boolean {
  const directory = join(dataDir, 'appendonlydir');
  return readdirSync(directory).some((name) => readFileSync(join(directory, name), 'latin1').includes(CANARY));
}

/** Sets the password of a server. @returns a connection to it */
async function secured({ url }: TestRedis): Promise<Redis> {
  const open = new Redis(url);
  await open.config('SET', 'masterauth', PASSWORD, 'requirepass', PASSWORD);
  open.disconnect();
  return new Redis(url, { password: PASSWORD });
}

it('an erasure ends when the append-only files of the master and of its replicas are rewritten', async () => {
  const [database, master, replica] = await Promise.all([
    createTestDatabase(),
    startRedis({ args: ['--repl-diskless-sync-delay', '0'] }),
    startRedis({ args: [] }),
  ]);
  const [redis, follower] = (await Promise.all([master, replica].map(secured))) as [Redis, Redis];
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const catalog = createCatalog({
    ...{ redis, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  const erasures = startErasures({
    ...{ catalog, redis, clickhouse: database.client, logger, lateRows: lateRowsOf(catalog), cluster: undefined },
    ...{ queueShards: [redis], waitReplicas: 1, gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });
  try {
    await follower.replicaof('127.0.0.1', String(master.port));
    await waitFor(async () => /master_link_status:up/.test(await follower.info('replication')), { what: 'a replica' });
    const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
    const subject = { externalId: 'ann', customerIds: [] };
    const { id } = await catalog.erasures.accept(workspace.id, subject, 'anonymise');
    await redis.set('of Ann', CANARY);
    await redis.del('of Ann');
    await waitFor(() => [master, replica].every(hasCanary), { what: 'both files to have the text' });

    await waitFor(
      async () => {
        await erasures.run();
        return (await catalog.erasures.require(workspace.id, id)).status === 'erased';
      },
      { what: 'the erasure' },
    );

    expect([master, replica].map(hasCanary)).toEqual([false, false]);
  } finally {
    await erasures.close();
    await catalog.close();
    for (const one of [redis, follower]) one.disconnect();
    await Promise.all([replica.stop(), master.stop(), database.drop()]);
  }
}, 120_000);
