import type { Catalog } from '@waymark/catalog';
import { createClaimAdmin, customerClaim, QUEUE_PREFIX } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eraseCustomer } from '../../src/erasures/erase-customer.js';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const create = (externalId: string) => acme.call<{ id: string }>('POST', '/customers', { externalId, country: 'FR' });

/** Erases a customer. @param id its id, or its external id with `ext_` @param changed operations on customers that do something else as well */
async function erase(id: string, changed: Partial<Catalog['customers']>): Promise<void> {
  const { catalog, redis } = management;
  const claims = createClaimAdmin(redis);
  await eraseCustomer(
    {
      catalog: { ...catalog, customers: { ...catalog.customers, ...changed } },
      ...{ claimsOf: async () => claims, queueShards: [redis], replications: [createReplication(redis, 0)] },
    },
    ...([acme.workspaceId, id, 'anonymise'] as const),
  );
}

const anExport = (resource: 'customers' | 'events') =>
  management.catalog.exportJobs.create(acme.workspaceId, {
    ...{ resource, format: 'csv', columns: null, escapeFormulas: true, filters: {} },
    ...{ keyId: 'key_00000000001', hidesFolders: false, hidesPasswords: false },
  });

it('an export of customers that begins after the acceptance and before the removal of the record is withdrawn', async () => {
  await create('exported');
  const { customers, exportJobs } = management.catalog;
  const job = await anExport('customers');
  const remove: typeof customers.remove = async (...request) => {
    await exportJobs.begin(job);
    return customers.remove(...request);
  };
  await erase('ext_exported', { remove });
  const { status, error } = await exportJobs.require(acme.workspaceId, job.id);
  expect([status, error]).toEqual(['failed', expect.stringContaining('a customer was erased')]);
});

it('a repeated erasure withdraws no export that has begun since', async () => {
  await create('repeated');
  const { exportJobs } = management.catalog;
  await erase('ext_repeated', {});
  const jobs = [await anExport('events'), await anExport('customers')];
  for (const job of jobs) await exportJobs.begin(job);
  // By more than the clocks of two processes may be apart.
  const startedAt = new Date(Date.now() + 60_000).toISOString();
  for (const { id } of jobs) await exportJobs.update(acme.workspaceId, id, () => ({ startedAt }));
  await erase('ext_repeated', {});
  const stored = await Promise.all(jobs.map(({ id }) => exportJobs.require(acme.workspaceId, id)));
  expect(stored.map(({ status }) => status)).toEqual(['processing', 'processing']);
});

it.each([
  ['created', 'late', (externalId: string) => create(externalId)],
  [
    'renamed',
    'late-name',
    async (externalId: string) => {
      const { body } = await create('early-name');
      return acme.call<{ id: string }>('PATCH', `/customers/${body.id}`, { externalId });
    },
  ],
])('a customer that is %s while its erasure is accepted is erased too', async (_how, externalId, give) => {
  const { customers } = management.catalog;
  let given: { id: string } | undefined;
  // The last read of the person before the acceptance.
  const getMany: typeof customers.getMany = async (...request) => {
    const found = await customers.getMany(...request);
    given ??= (await give(externalId)).body;
    return found;
  };
  await erase(`ext_${externalId}`, { getMany });
  expect((await acme.call('GET', `/customers/ext_${externalId}`)).status).toBe(404);
  expect(await customers.get(acme.workspaceId, given?.id ?? '')).toBeUndefined();
});

it('the erasure of a customer by its id leaves another that gets its external id meanwhile', async () => {
  const [{ body: subject }, { body: other }] = [await create('exchanged'), await create('other')];
  const { customers } = management.catalog;
  const rename = (id: string, externalId: string) => acme.call('PATCH', `/customers/${id}`, { externalId });
  let isRenamed = false;
  const get: typeof customers.get = async (...request) => {
    const found = await customers.get(...request);
    if (!isRenamed) {
      isRenamed = true;
      await rename(subject.id, 'former');
      expect((await rename(other.id, 'exchanged')).status).toBe(200);
    }
    return found;
  };
  await erase(subject.id, { get });
  expect(await customers.get(acme.workspaceId, subject.id)).toBeUndefined();
  expect(await customers.get(acme.workspaceId, other.id)).toMatchObject({ externalId: 'exchanged' });
});

it('a customer that is renamed while it is erased leaves no claim of its new external id', async () => {
  const { body: created } = await create('before');
  const { customers } = management.catalog;
  const claim = `${QUEUE_PREFIX}:claim:${customerClaim(acme.workspaceId, 'after')}`;
  let isRenamed = false;
  const get: typeof customers.get = async (...request) => {
    const found = await customers.get(...request);
    if (!isRenamed) {
      isRenamed = true;
      expect((await acme.call('PATCH', `/customers/${created.id}`, { externalId: 'after' })).status).toBe(200);
      expect(await management.redis.get(claim)).toContain(created.id);
    }
    return found;
  };
  await erase('ext_before', { get });
  expect(await customers.get(acme.workspaceId, created.id)).toBeUndefined();
  expect(await management.redis.exists(claim)).toBe(0);
});
