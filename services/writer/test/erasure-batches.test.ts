import type { Catalog } from '@waymark/catalog';
import { createResourceId } from '@waymark/contract';
import { QUEUE_PREFIX } from '@waymark/event-queue';
import { removeOldPartsAtOnce, startStores, type TestDatabase, type TestStores, waitFor } from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { lateRowsOf, startErasures } from '../src/index.js';

let stores: TestStores;
let database: TestDatabase;
let redis: Redis;
let catalog: Catalog;
const logger = { debug() {}, info() {}, warn() {}, error() {} };

beforeAll(async () => {
  stores = await startStores();
  ({ database, client: redis } = stores);
  catalog = stores.catalog();
});
afterEach(async () => {
  const waiting = await catalog.erasures.waiting({ erasures: 100, ids: 1_000 });
  for (const { workspaceId, id } of [...waiting, ...(await catalog.erasures.begun())]) {
    await catalog.erasures.update(workspaceId, id, () => ({ status: 'erased' }));
  }
});
afterAll(() => stores.close());

const erasuresWith = (used: Catalog, shard = redis, more: Partial<Parameters<typeof startErasures>[0]> = {}) =>
  startErasures({
    ...{ catalog: used, redis, clickhouse: database.client, logger, lateRows: lateRowsOf(used), cluster: undefined },
    ...{ queueShards: [shard], gatherMs: 0, settleMs: 0, intervalMs: 2 ** 30, ...more },
  });

/** An export of customers that has begun. */
async function anExport(workspaceId: string) {
  const job = await catalog.exportJobs.create(workspaceId, {
    ...{ resource: 'customers', format: 'csv', columns: null, escapeFormulas: true, filters: {} },
    ...{ keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
  });
  return catalog.exportJobs.begin(job);
}

it('a batch removes also what was queued again while it ran, such as a delivery that somebody sends once more', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Queued', slug: 'queued', plan: 'enterprise' });
  // The mutation rewrites the names of the workspace.
  await removeOldPartsAtOnce(database.client, ['names']);
  // An id of no record, used before other tests write records, so that no other table has parts to rewrite.
  const id = createResourceId('customer', Date.now());
  const subject = { externalId: 'eve', customerIds: [id] };
  const erasure = await catalog.erasures.accept(workspace.id, subject, 'delete');
  const claim = `${QUEUE_PREFIX}:claim:invoice:late`;
  const scan = redis.scan.bind(redis) as (...parameters: unknown[]) => Promise<[string, string[]]>;
  let scans = 0;
  const shard = new Proxy(redis, {
    get(target, name) {
      if (name !== 'scan') return Reflect.get(target, name);
      return async (...parameters: unknown[]) => {
        const found = await scan(...parameters);
        scans += 1;
        if (scans === 1) await redis.set(claim, `f:{"id":"${id}"}`);
        return found;
      };
    },
  });
  const erasures = erasuresWith(catalog, shard);
  await waitFor(
    async () => {
      await erasures.run();
      return (await catalog.erasures.require(workspace.id, erasure.id)).status === 'erased';
    },
    { what: 'the end of the batch' },
  );
  await erasures.close();
  expect([scans > 1, await redis.get(claim)]).toEqual([true, null]);
});

it('a batch removes the records that the request has left, and the exports that have them', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: 'acme', plan: 'enterprise' });
  const { id } = await catalog.customers.create(workspace.id, { externalId: 'ann', name: 'Ann', country: 'US' });
  const subject = { externalId: 'ann', customerIds: [id] };
  await catalog.erasures.accept(workspace.id, subject, 'delete');
  const job = await anExport(workspace.id);
  expect((await catalog.customers.findByExternalId(workspace.id, 'ann'))?.name).toBe('Ann');

  const erasures = erasuresWith(catalog);
  await erasures.run();
  const later = await anExport(workspace.id);
  await erasures.run();
  await erasures.close();

  expect(await catalog.customers.get(workspace.id, id)).toBeUndefined();
  expect(await catalog.customers.findByExternalId(workspace.id, 'ann')).toBeUndefined();
  const statusOf = async ({ id: jobId }: { readonly id: string }) =>
    (await catalog.exportJobs.require(workspace.id, jobId)).status;
  expect([await statusOf(job), await statusOf(later)]).toEqual(['failed', 'processing']);
});

it('a batch that is interrupted before it has withdrawn the exports does so later, once for all erasures of the workspace', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Third', slug: 'third', plan: 'enterprise' });
  const { id } = await catalog.customers.create(workspace.id, { externalId: 'bea', country: 'US' });
  await catalog.erasures.accept(workspace.id, { externalId: 'bea', customerIds: [id] }, 'delete');
  await catalog.erasures.accept(workspace.id, { externalId: 'never', customerIds: [] }, 'delete');
  const job = await anExport(workspace.id);
  let calls = 0;
  const withdraw: Catalog['exportJobs']['withdraw'] = async (...request) => {
    calls += 1;
    if (calls === 1) throw new Error('interrupted');
    return catalog.exportJobs.withdraw(...request);
  };
  const erasures = erasuresWith({ ...catalog, exportJobs: { ...catalog.exportJobs, withdraw } });
  await erasures.run();
  await erasures.run();
  await erasures.close();
  const { status } = await catalog.exportJobs.require(workspace.id, job.id);
  expect([status, calls]).toEqual(['failed', 2]);
});

it('a writer that has lost its lease adds no erasure to a batch that another may have begun', async () => {
  // The erasures of a workspace are added together.
  const accept = async (slug: string) => {
    const { workspace } = await catalog.workspaces.create({ name: slug, slug, plan: 'enterprise' });
    return catalog.erasures.accept(workspace.id, { externalId: 'ann', customerIds: [] }, 'delete');
  };
  const [first, second] = [await accept('lost-first'), await accept('lost-second')];
  let found = 0;
  const clicksOf: Catalog['erasures']['clicksOf'] = async (...request) => {
    found += 1;
    // A writer that closes stops as one does that has lost its lease.
    if (found === 2) void erasures.close();
    return catalog.erasures.clicksOf(...request);
  };
  const erasures = erasuresWith({ ...catalog, erasures: { ...catalog.erasures, clicksOf } });
  await erasures.run();
  await erasures.close();
  expect((await catalog.erasures.require(first.workspaceId, first.id)).status).toBe('processing');
  // A change, also one without another status, would make it wait again for `gatherMs`.
  expect(await catalog.erasures.require(second.workspaceId, second.id)).toEqual(second);
});

it('a batch of external ids that no customer has changes its erasures together, and each only when its status changes', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Many', slug: 'many', plan: 'enterprise' });
  const made: { readonly id: string }[] = [];
  for (let number = 1; number <= 5; number += 1) {
    const subject = { externalId: `nobody-${number}`, customerIds: [] };
    made.push(await catalog.erasures.accept(workspace.id, subject, 'anonymise'));
  }
  const calls: string[][] = [];
  const updateMany: Catalog['erasures']['updateMany'] = (workspaceId, ids, change) => {
    calls.push([...ids]);
    return catalog.erasures.updateMany(workspaceId, ids, change);
  };
  const erasures = erasuresWith({ ...catalog, erasures: { ...catalog.erasures, updateMany } });
  const isErased = async () => {
    await erasures.run();
    const { status } = await catalog.erasures.require(workspace.id, made[0]?.id ?? '');
    return status === 'erased';
  };
  await waitFor(isErased, { what: 'the batch' });
  await erasures.close();
  const ids = made.map(({ id }) => id);
  expect(calls).toEqual([ids, ids]);
});

it('every writer reports the oldest open erasure every five minutes, also if no step can begin', async () => {
  const { workspace } = await catalog.workspaces.create({ name: 'Late', slug: 'late', plan: 'enterprise' });
  const begun = () => Promise.reject(new Error('497: no right to read system.mutations'));
  const refused = { ...catalog, erasures: { ...catalog.erasures, begun } };
  const reports: (number | undefined)[] = [];
  let nowMs = Date.now();
  const onOldest = (sinceMs: number | undefined) => void reports.push(sinceMs);
  const erasures = erasuresWith(refused, redis, { onOldest, now: () => nowMs });
  await erasures.run();
  const { createdAt } = await catalog.erasures.accept(workspace.id, { externalId: 'eve', customerIds: [] }, 'delete');
  await erasures.run();
  expect(reports).toEqual([undefined]);
  nowMs += 300_000;
  await erasures.run();
  expect(reports).toEqual([undefined, Date.parse(createdAt)]);
  await erasures.close();
});
