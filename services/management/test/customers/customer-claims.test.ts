import type { Catalog } from '@waymark/catalog';
import { parseResourceId } from '@waymark/contract';
import {
  createClaimAdmin,
  createEventProducer,
  customerClaim,
  invoiceClaim,
  leadClaim,
  QUEUE_PREFIX,
} from '@waymark/event-queue';
import { createLogger } from '@waymark/http-kit';
import { aClick, aLead, aSale, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { deleteCustomer, updateCustomer } from '../../src/customers/customers.js';
import { aCaller, type Caller, startManagement, type TestManagement } from '../test-management.js';

/** Claims of an external id must not outlive the customer that had it, nor block the next one. */

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const keyOf = (name: string) => `${QUEUE_PREFIX}:claim:${name}`;
const create = (externalId: string) => acme.call('POST', '/customers', { externalId, country: 'FR' });

async function storeClaim(name: string, value: string, ms = 60_000): Promise<void> {
  await management.redis.set(keyOf(name), value, 'PX', ms);
}

/** A catalog whose process crashes right after writing the customer. */
function killedAfter(what: 'update' | 'remove') {
  const { catalog } = management;
  const work = async (...request: never[]) => {
    await (catalog.customers[what] as (...all: never[]) => Promise<unknown>)(...request);
    throw new Error('killed');
  };
  const customers = { ...catalog.customers, [what]: work } as unknown as Catalog['customers'];
  const { redis } = management;
  return { catalog: { ...catalog, customers }, claimsOf: async () => createClaimAdmin(redis), queueShards: [redis] };
}

test('a rename that takes longer than its claim lasts does not leave the old external id to the renamed customer', async () => {
  await create('slow');
  const { catalog, redis } = management;
  const claim = customerClaim(acme.workspaceId, 'slow');
  const update: typeof catalog.customers.update = async (...request) => {
    // The claim expires, and an event finds the customer by its old external id.
    await storeClaim(claim, 'f:{}');
    return catalog.customers.update(...request);
  };
  const customers = { ...catalog.customers, update };
  const deps = {
    catalog: { ...catalog, customers },
    claimsOf: async () => createClaimAdmin(redis),
    queueShards: [redis],
  };
  await updateCustomer(deps, acme.workspaceId, 'ext_slow', { externalId: 'renamed' });
  expect(await redis.exists(keyOf(claim))).toBe(0);
});

it('a customer who is renamed while another request sends the former external id back keeps the claim of neither', async () => {
  const { body: customer } = await acme.call<{ id: string }>('POST', '/customers', {
    externalId: 'former',
    country: 'FR',
  });
  const { catalog, redis } = management;
  let isFormerClaimed = false;
  const update: typeof catalog.customers.update = async (workspaceId, id, change) => {
    if ((await catalog.customers.require(workspaceId, id)).externalId === 'former')
      await acme.call('PATCH', `/customers/${id}`, { externalId: 'later' });
    return catalog.customers.update(workspaceId, id, async (record) => {
      const fields = await change(record);
      isFormerClaimed = (await redis.get(keyOf(customerClaim(workspaceId, 'former'))))?.startsWith('p:') === true;
      return fields;
    });
  };
  const customers = { ...catalog.customers, update };
  const deps = {
    catalog: { ...catalog, customers },
    claimsOf: async () => createClaimAdmin(redis),
    queueShards: [redis],
  };
  const body = { externalId: 'former', name: 'Ada' };
  const updated = await updateCustomer(deps, acme.workspaceId, customer.id, body);
  expect(updated).toMatchObject(body);
  expect(isFormerClaimed).toBe(true);
  expect((await create('later')).status).toBe(201);
});

describe('a crash between writing the customer and deleting its claims', () => {
  it('a renamed customer does not block its old external id', async () => {
    await create('before');
    const { workspaceId } = acme;
    await storeClaim(customerClaim(workspaceId, 'before'), 'f:{}');
    const renaming = updateCustomer(killedAfter('update'), workspaceId, 'ext_before', { externalId: 'after' });
    await expect(renaming).rejects.toThrow('killed');
    expect((await acme.call('GET', '/customers/ext_after')).status).toBe(200);
    expect((await create('before')).status).toBe(201);
  });

  it('a deleted customer does not block its external id', async () => {
    await create('leaving');
    const { workspaceId } = acme;
    await storeClaim(customerClaim(workspaceId, 'leaving'), 'f:{}');
    await expect(deleteCustomer(killedAfter('remove'), workspaceId, 'ext_leaving')).rejects.toThrow('killed');
    expect((await create('leaving')).status).toBe(201);
  });
});

describe('filters of stored keys are blocked before', () => {
  const mark = () => management.redis.get(keyOf(`filters:${acme.workspaceId}`));
  const whileUnblocked = async (work: () => Promise<unknown>) => {
    await management.redis.set(keyOf(`filters:${acme.workspaceId}`), 'f:a mark');
    await work();
    expect(await mark()).toBe('f:blocked');
  };

  it.each([
    ['created', () => create('filtered')],
    ['changed', () => acme.call('PATCH', '/customers/ext_filtered', { name: 'Ann' })],
    ['renamed', () => acme.call('PATCH', '/customers/ext_filtered', { externalId: 'renamed' })],
    ['deleted', () => acme.call('DELETE', '/customers/ext_renamed')],
    ['erased', () => acme.call('POST', '/customers/ext_renamed/erasure', {})],
  ])('a customer is %s', async (_what, work) => {
    await whileUnblocked(work);
  });

  it('the record is written, because the process may be killed after it', async () => {
    await create('killed');
    await whileUnblocked(async () => {
      const changing = updateCustomer(killedAfter('update'), acme.workspaceId, 'ext_killed', { name: 'Bob' });
      await expect(changing).rejects.toThrow('killed');
    });
  });
});

describe('an external id with a pending claim', () => {
  it('is waited for, and available when the claim is released', async () => {
    await storeClaim(customerClaim(acme.workspaceId, 'waited-for'), 'p:someone', 300);
    expect((await create('waited-for')).status).toBe(201);
  });
});

it("customers that are renamed to each other's external ids at once are all refused as taken, without waiting", async () => {
  const ids = ['first', 'second', 'third'];
  for (const id of ids) await create(id);
  const startedMs = performance.now();
  const renaming = ids.map((id, index) =>
    acme.call('PATCH', `/customers/ext_${id}`, { externalId: ids[(index + 1) % ids.length] }),
  );
  expect((await Promise.all(renaming)).map(({ status }) => status)).toEqual([409, 409, 409]);
  // A request that waits for a claim until it gives up takes five seconds.
  expect(performance.now() - startedMs).toBeLessThan(4_500);
  const claims = await management.redis.mget(ids.map((id) => keyOf(customerClaim(acme.workspaceId, id))));
  expect(claims.filter((claim) => claim?.startsWith('p:'))).toEqual([]);
});

it('a deleted customer is in no stored answer of a lead or sale that is still in the queue', async () => {
  const { workspaceId } = acme;
  const created = await acme.call<{ id: string }>('POST', '/customers', { externalId: 'queued', country: 'FR' });
  const ids = {
    workspaceId: parseResourceId('workspace', workspaceId) ?? '',
    customerId: parseResourceId('customer', created.body.id) ?? '',
  };
  const leadAnswer = leadClaim(workspaceId, created.body.id, 'Sign up');
  const saleAnswer = invoiceClaim(workspaceId, 'in_queued');
  const others = [leadClaim(workspaceId, 'cus_other', 'Sign up'), invoiceClaim(workspaceId, 'in_other')];
  const answer = { eventName: 'Purchase', customer: { id: created.body.id, name: 'Ada' }, sale: { amount: 1 } };
  const shared = invoiceClaim(workspaceId, 'in_shared');
  await storeClaim(shared, `f:${JSON.stringify({ ...answer, customer: { id: 'cus_other', name: 'Ada' } })}`);
  for (const name of [leadAnswer, saleAnswer, ...others]) await storeClaim(name, `f:${JSON.stringify(answer)}`);
  const click = aClick({ workspaceId: ids.workspaceId });
  const { host, port } = management.redis.options;
  const producer = createEventProducer({
    redisUrl: `redis://${host}:${port}`,
    spoolDirectory: temporaryDirectory('waymark-claims-'),
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  await waitFor(() => producer.ping().then(() => true), { what: 'the producer to be connected' });
  await producer.commit({
    rows: [
      { kind: 'lead', row: aLead({ click, customerId: ids.customerId }) },
      { kind: 'sale', row: aSale({ click, customerId: ids.customerId, invoiceId: 'in_queued' }) },
      // Its invoice was recorded again for another customer since.
      { kind: 'sale', row: aSale({ click, customerId: ids.customerId, invoiceId: 'in_shared' }) },
    ],
    finals: [],
    state: [],
  });
  await producer.close();
  expect((await acme.call('DELETE', '/customers/ext_queued')).status).toBe(200);
  expect(await management.redis.exists(keyOf(leadAnswer))).toBe(0);
  // The sale can only be found by its claim, until it is stored.
  const kept = (await management.redis.get(keyOf(saleAnswer))) ?? '';
  expect(JSON.parse(kept.slice('f:'.length))).toMatchObject({
    eventName: 'Purchase',
    customer: { id: created.body.id, name: 'Deleted Customer', email: 'deleted@customer.com' },
    sale: { amount: 1 },
  });
  expect(await management.redis.pttl(keyOf(saleAnswer))).toBeGreaterThan(0);
  for (const name of [...others, shared]) expect(await management.redis.get(keyOf(name))).toContain('Ada');
});
