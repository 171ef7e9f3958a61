import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from '@waymark/catalog';
import { createTestDatabase, freePort, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

const CANARY = 'canary4r';
const PASSWORD = 'of-both';

/** Whether the append-only file of a server, or its dump, has the canary. */
function hasCanary({ dataDir }: TestRedis): boolean {
  const log = readdirSync(join(dataDir, 'appendonlydir')).map((name) => join('appendonlydir', name));
  return [...log, 'dump.rdb'].some((name) => readFileSync(join(dataDir, name), 'latin1').includes(CANARY));
}

/** Sets the password of a server. @returns a connection to it */
async function secured({ url }: TestRedis): Promise<Redis> {
  const open = new Redis(url);
  await open.config('SET', 'masterauth', PASSWORD, 'requirepass', PASSWORD);
  open.disconnect();
  return new Redis(url, { password: PASSWORD });
}

/**
 * A catalog on a master with a replica, both with a password, and an erasure whose text is in the append-only files and the dumps of both.
 *
 * @param announcedPort the port of the replica, as its master lists it; 0 = its own
 */
async function startErasureOnTwo(announcedPort = 0) {
  const [database, master, replica] = await Promise.all([
    createTestDatabase(),
    startRedis({ args: ['--repl-diskless-sync-delay', '0'] }),
    startRedis({ args: [] }),
  ]);
  const [redis, follower] = (await Promise.all([master, replica].map(secured))) as [Redis, Redis];
  const warned: { readonly port?: unknown }[] = [];
  const logger = { debug() {}, info() {}, warn: (context: object) => void warned.push(context), error() {} };
  const catalog = createCatalog({
    ...{ redis, clickhouse: database.client, instanceKey: Buffer.alloc(32, 7), now: Date.now, logger },
    baseUrl: 'https://api.example.com',
  });
  const erasures = startErasures({
    ...{ catalog, redis, clickhouse: database.client, logger, lateRows: lateRowsOf(catalog), cluster: undefined },
    ...{ queueShards: [redis], waitReplicas: 1, gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30 },
  });
  onTestFinished(async () => {
    await erasures.close();
    await catalog.close();
    for (const one of [redis, follower]) one.disconnect();
    await Promise.all([replica.stop(), master.stop(), database.drop()]);
  });
  await follower.config('SET', 'replica-announce-port', announcedPort);
  await follower.replicaof('127.0.0.1', String(master.port));
  await waitFor(async () => /master_link_status:up/.test(await follower.info('replication')), { what: 'a replica' });
  const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
  const { id } = await catalog.erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'anonymise');
  await redis.set('of Ann', CANARY);
  await waitFor(async () => (await follower.exists('of Ann')) === 1, { what: 'the text in the replica' });
  await Promise.all([redis.save(), follower.save()]);
  await redis.del('of Ann');
  await waitFor(() => [master, replica].every(hasCanary), { what: 'both files to have the text' });
  return {
    ...{ master, replica, follower, warned },
    /** Runs the task until the erasure has ended. @returns how often it ran */
    async end(): Promise<number> {
      let runs = 0;
      const isErased = async () => {
        runs += 1;
        await erasures.run();
        return (await catalog.erasures.require(workspace.id, id)).status === 'erased';
      };
      await waitFor(isErased, { what: 'the erasure', timeoutMs: 60_000 });
      return runs;
    },
  };
}

it('an erasure ends when the append-only files and the dumps of the master and of its replicas are rewritten', async () => {
  const { master, replica, end } = await startErasureOnTwo();
  await end();
  expect([master, replica].map(hasCanary)).toEqual([false, false]);
}, 120_000);

it('a replica that cannot be reached at its address is logged, and delays no erasure', async () => {
  const unused = await freePort();
  const { master, replica, warned, end } = await startErasureOnTwo(unused);
  await end();
  expect([master, replica].map(hasCanary)).toEqual([false, true]);
  expect(warned.map(({ port }) => port)).toContain(unused);
}, 120_000);

it('a replica that never ends a rewrite of its file is logged, and delays an erasure by ten runs', async () => {
  const { master, replica, follower, warned, end } = await startErasureOnTwo();
  // A rewrite that began too early is under way all the time.
  await follower.config('SET', 'rdb-key-save-delay', 600_000_000);
  await follower.bgrewriteaof();
  expect(await end()).toBeGreaterThan(10);
  expect(hasCanary(master)).toBe(false);
  expect(warned.filter(({ port }) => port === replica.port).length).toBeGreaterThan(10);
  // Ends the process that rewrites the file, which would outlive a killed server and hold the output of the test run open.
  const closed = once(follower, 'close');
  follower.shutdown('NOSAVE').catch(() => undefined);
  await closed;
}, 120_000);
