import { draftCustomer } from '@waymark/catalog';
import {
  type Customer,
  createResourceId,
  customerSchema,
  type ExpandedCustomer,
  expandedCustomerSchema,
  type Partner,
  parseResourceId,
} from '@waymark/contract';
import { customerClaim, invoiceClaim, leadClaim, QUEUE_PREFIX } from '@waymark/event-queue';
import {
  aClick,
  addPendingCustomer,
  aLead,
  aSale,
  insertLeads,
  insertSales,
  waitFor,
  writePendingCustomer,
} from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  startManagement,
  statusesOf,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterAll(() => management.close());

const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];
const create = (caller: Caller, body: object) =>
  caller.call<Customer>('POST', '/customers', { country: 'FR', ...body });

/** Stores a claim as an event does. */
async function storeClaim(name: string, value: string): Promise<string> {
  const key = `${QUEUE_PREFIX}:claim:${name}`;
  await management.redis.set(key, value, 'PX', 60_000);
  return key;
}

describe('POST /customers', () => {
  it('answers 201 with the customer, with the external id unchanged', async () => {
    const { status, body } = await create(acme, {
      externalId: 'ext_u1',
      email: 'ada@acme.com',
      name: 'Ada',
      country: 'fr',
    });
    expect(status).toBe(201);
    expect(customerSchema.parse(body)).toMatchObject({
      externalId: 'ext_u1',
      email: 'ada@acme.com',
      name: 'Ada',
      country: 'FR',
      sales: 0,
    });
  });

  it.each([
    ['no externalId', { externalId: undefined }, 400],
    ['no country', { externalId: 'x', country: undefined }, 400],
    ['an invalid email', { externalId: 'x', email: 'nonsense' }, 422],
    ['a blank externalId', { externalId: ' ' }, 422],
    ['an avatar that is no URL', { externalId: 'x', avatar: 'nonsense' }, 422],
  ])('%s answers %i', async (_what, body, status) => {
    expect((await create(acme, body)).status).toBe(status);
  });

  it('names the field for an external id that cannot be stored', async () => {
    const { status, body } = await create(acme, { externalId: 'a\0b' });
    expect([status, body]).toMatchObject([422, { error: { message: expect.stringContaining('externalId') } }]);
  });

  it('succeeds for one of 60 concurrent requests with one external id', async () => {
    expect(await statusesOf(60, () => create(acme, { externalId: 'once' }))).toEqual({ 201: 1, 409: 59 });
  });

  it('conflicts with a customer of a recent event that is not stored yet', async () => {
    await storeClaim(customerClaim(acme.workspaceId, 'queued'), 'f:{}');
    expect(codeOf(await create(acme, { externalId: 'queued' }))).toEqual([409, 'conflict']);
  });
});

describe('GET /customers', () => {
  let caller: Caller;
  const ids: string[] = [];

  beforeAll(async () => {
    caller = await aCaller(management);
    for (const [externalId, name, country] of [
      ['a1', 'Ada', 'FR'],
      ['b2', 'Bob', 'US'],
      ['c3', 'Cleo', 'FR'],
    ]) {
      ids.push((await create(caller, { externalId, name, email: `${name}@acme.com`, country })).body.id);
    }
    const click = aClick({ workspaceId: parseResourceId('workspace', caller.workspaceId) ?? '' });
    const sale = (index: number, amount: number, day: number) =>
      aSale({
        click,
        customerId: parseResourceId('customer', ids[index] ?? '') ?? '',
        amount,
        timestampMs: Date.UTC(2026, 5, day),
      });
    await insertSales(management.database.client, [sale(0, 500, 2), sale(1, 900, 3), sale(0, 100, 4)]);
  });

  const list = async (query: string) => {
    const { status, body } = await caller.call<Customer[]>('GET', `/customers${query}`);
    expect(status).toBe(200);
    return customerSchema.array().parse(body);
  };
  const names = async (query: string) => (await list(query)).map(({ externalId }) => externalId);

  it('lists newest first, with totals', async () => {
    const customers = await list('');
    expect(customers.map(({ externalId, sales, saleAmount }) => [externalId, sales, saleAmount])).toEqual([
      ['c3', 0, 0],
      ['b2', 1, 900],
      ['a1', 2, 600],
    ]);
  });

  it.each([
    ['?sortOrder=asc', ['a1', 'b2', 'c3']],
    ['?sortBy=saleAmount', ['b2', 'a1', 'c3']],
    ['?sortBy=saleAmount&sortOrder=asc', ['c3', 'a1', 'b2']],
    ['?sortBy=firstSaleAt&sortOrder=asc', ['a1', 'b2', 'c3']],
    ['?sortBy=firstSaleAt', ['b2', 'a1', 'c3']],
    ['?sortBy=subscriptionCanceledAt', ['c3', 'b2', 'a1']],
    ['?email=bob@acme.com&search=ada', ['b2']],
    ['?email=BOB@Acme.com', ['b2']],
    ['?search=ADA@acme.com', ['a1']],
    ['?email=bob@acme.com&externalId=a1', ['b2']],
    ['?externalId=c3', ['c3']],
    ['?search=ada@acme.com', ['a1']],
    ['?search=LEO', ['c3']],
    ['?search=b2', ['b2']],
    ['?country=FR', ['c3', 'a1']],
    ['?country=fr', ['c3', 'a1']],
    ['?linkId=link_none', []],
    ['?linkId=ext_none', []],
    ['?linkId=c3', []],
    ['?linkId=link_00000000000', []],
    ['?linkId=%00', []],
    ['?partnerId=pn_none&programId=prog_none', []],
    ['?partnerId=none', []],
    ['?programId=none', []],
    ['?page=2&pageSize=2', ['a1']],
  ])('%s', async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  it('pages by cursor in both directions; a cursor takes precedence over a page, and past the end the list is empty', async () => {
    expect(await names(`?startingAfter=${ids[2]}&pageSize=1&page=7`)).toEqual(['b2']);
    expect(await names(`?startingAfter=${ids[2]}&pageSize=1&page=1001`)).toEqual(['b2']);
    expect(await names(`?startingAfter=${ids[0]}`)).toEqual([]);
    expect(await names(`?endingBefore=${ids[0]}&pageSize=1`)).toEqual(['b2']);
    expect(await names(`?endingBefore=${ids[0]}`)).toEqual(['c3', 'b2']);
    expect(await names(`?startingAfter=${ids[0]}&sortOrder=asc&pageSize=1`)).toEqual(['b2']);
    expect(await names(`?startingAfter=${ids[0]}&sortOrder=asc`)).toEqual(['b2', 'c3']);
    expect(await names(`?endingBefore=${ids[2]}&sortOrder=asc&pageSize=1`)).toEqual(['b2']);
  });

  it.each([
    ['both cursors', () => `startingAfter=${ids[0]}&endingBefore=${ids[1]}`],
    ['a cursor with another sort', () => `startingAfter=${ids[0]}&sortBy=saleAmount`],
    ['an unknown cursor', () => 'startingAfter=cus_zzzzzzzzzzz'],
    ['page 1001', () => 'page=1001'],
  ])('%s answers 422, also beside a link that does not exist', async (_what, query) => {
    for (const link of ['', '&linkId=link_none', '&linkId=ext_none'])
      expect((await caller.call('GET', `/customers?${query()}${link}`)).status).toBe(422);
  });

  it('includes link, partner and program with includeExpandedFields', async () => {
    const link = await management.catalog.links.create(caller.workspaceId, {
      domain: caller.host,
      key: 'in',
      url: 'https://acme.com',
    });
    await management.catalog.customers.create(caller.workspaceId, { externalId: 'linked', linkId: link.id });
    const path = '/customers/ext_linked?includeExpandedFields=true';
    const { body } = await caller.call<ExpandedCustomer>('GET', path);
    expect(expandedCustomerSchema.parse(body)).toMatchObject({
      link: { id: link.id, shortLink: `https://${caller.host}/in`, programId: null },
      programId: null,
      partner: null,
      discount: null,
    });
    expect(await names(`?linkId=${link.id}&includeExpandedFields=false`)).toEqual(['linked']);
    const change = { name: 'Linked' };
    const patched = await caller.call<ExpandedCustomer>('PATCH', path, change);
    expect(patched).toEqual({ status: 200, body: { ...body, ...change } });
    const plain = await caller.call<Customer>('PATCH', '/customers/ext_linked', change);
    expect(customerSchema.parse(plain.body).name).toBe('Linked');

    const fields = { name: 'Ada', email: 'ada@example.com', image: 'https://acme.com/ada.png' };
    const { body: partner } = await caller.call<Partner>('POST', '/partners', fields);
    const [first] = partner.links ?? [];
    const { programId, id: partnerId } = partner;
    const brought = { externalId: 'by-partner', linkId: first?.id ?? null, partnerId, programId };
    await management.catalog.customers.create(caller.workspaceId, brought);
    const expanded = await caller.call<ExpandedCustomer>('GET', '/customers/ext_by-partner?includeExpandedFields=true');
    expect(expanded.body).toMatchObject({ link: { id: first?.id, programId }, programId });
    expect(expanded.body.partner).toEqual({ id: partnerId, ...fields });
  });

  it('filters by the partner and the program that brought a customer', async () => {
    const [partnerId, programId] = [createResourceId('partner', Date.now()), createResourceId('program', Date.now())];
    await management.catalog.customers.create(caller.workspaceId, { externalId: 'brought', partnerId, programId });
    for (const query of [`?partnerId=${partnerId}`, `?programId=${programId}`]) {
      expect(await names(query)).toEqual(['brought']);
    }
    expect(await names(`?partnerId=${createResourceId('partner', Date.now())}&programId=${programId}`)).toEqual([]);
  });
});

describe('GET, PATCH and DELETE /customers/{id}', () => {
  it('find by id and by external id, but not unknown ones or those of other workspaces', async () => {
    const { body: customer } = await create(acme, { externalId: 'a/b' });
    const stranger = await aCaller(management);
    expect((await acme.call('GET', `/customers/${customer.id}`)).body).toEqual(customer);
    expect((await acme.call('GET', '/customers/ext_a%2Fb')).body).toEqual(customer);
    for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
      const body = method === 'PATCH' ? { name: 'x' } : undefined;
      expect(codeOf(await stranger.call(method, `/customers/${customer.id}`, body))).toEqual([404, 'not_found']);
      expect(codeOf(await acme.call(method, '/customers/ext_none', body))).toEqual([404, 'not_found']);
    }
  });

  it('an update is atomic, clears fields that are null, and is not undone by claims of events', async () => {
    const { body: customer } = await create(acme, { externalId: 'old', email: 'old@acme.com', name: 'Old' });
    const key = await storeClaim(customerClaim(acme.workspaceId, 'old'), 'f:{"email":"old@acme.com"}');
    const { status, body } = await acme.call<Customer>('PATCH', '/customers/ext_old', {
      externalId: 'new',
      email: null,
      name: 'New',
      country: 'de',
    });
    expect([status, body]).toEqual([200, { ...customer, externalId: 'new', email: null, name: 'New', country: 'DE' }]);
    expect(await management.redis.exists(key)).toBe(0);
    expect((await acme.call('GET', '/customers/ext_old')).status).toBe(404);
    await create(acme, { externalId: 'taken' });
    expect(codeOf(await acme.call('PATCH', '/customers/ext_new', { externalId: 'taken' }))).toEqual([409, 'conflict']);
    // Events that follow at once see the change, and the old external id is available again.
    expect((await acme.call('PATCH', '/customers/ext_new', { externalId: 'old', name: 'Old again' })).status).toBe(200);
    expect(await management.redis.get(key)).toContain('Old again');
    expect((await create(acme, { externalId: 'new' })).status).toBe(201);
  });

  it('a new external id conflicts with a customer of a recent event that is not stored yet', async () => {
    await create(acme, { externalId: 'renamed' });
    await storeClaim(customerClaim(acme.workspaceId, 'just-brought'), 'f:{}');
    const change = { externalId: 'just-brought', name: 'Other' };
    expect(codeOf(await acme.call('PATCH', '/customers/ext_renamed', change))).toEqual([409, 'conflict']);
    expect((await acme.call<Customer>('GET', '/customers/ext_renamed')).body.name).not.toBe('Other');
  });

  it('waits for a request that may be storing a copy of the old customer', async () => {
    await create(acme, { externalId: 'busy' });
    const key = await storeClaim(customerClaim(acme.workspaceId, 'busy'), 'p:someone');
    const patch = acme.call('PATCH', '/customers/ext_busy', { name: 'Calm' });
    // The change is stored; deleting the copy waits for the request.
    await waitFor(async () => (await acme.call<Customer>('GET', '/customers/ext_busy')).body.name === 'Calm', {
      what: 'the change',
    });
    await management.redis.set(key, 'f:{"name":"Busy"}');
    expect((await patch).status).toBe(200);
    expect(await management.redis.exists(key)).toBe(0);
  });

  it('a new external id and a concurrent deletion leave the id available', async () => {
    for (let round = 0; round < 5; round++) {
      const { body: customer } = await create(acme, { externalId: `racing-${round}` });
      const externalId = `raced-${round}`;
      await Promise.all([
        acme.call('PATCH', `/customers/${customer.id}`, { externalId }),
        acme.call('DELETE', `/customers/${customer.id}`),
      ]);
      expect((await acme.call('GET', `/customers/${customer.id}`)).status).toBe(404);
      expect((await acme.call('GET', `/customers?startingAfter=${customer.id}`)).status).toBe(200);
      expect((await create(acme, { externalId })).status).toBe(201);
    }
  });

  it('find a customer of a recent event that is not stored yet', async () => {
    const brought = draftCustomer(acme.workspaceId, { externalId: 'on-its-way', name: 'Ada' }, Date.now());
    await addPendingCustomer(management.redis, brought);
    const key = await storeClaim(customerClaim(acme.workspaceId, 'on-its-way'), `f:${JSON.stringify(brought)}`);
    const { id } = brought;
    for (const path of ['/customers/ext_on-its-way', `/customers/${id}`]) {
      const found = await acme.call<Customer>('GET', path);
      expect([found.status, found.body.id, found.body.name]).toEqual([200, id, 'Ada']);
    }
    const list = await acme.call<Customer[]>('GET', '/customers?externalId=on-its-way');
    expect(list.body.map((customer) => customer.id)).toEqual([id]);
    expect((await acme.call('GET', `/customers?startingAfter=${id}`)).status).toBe(200);
    const changed = await acme.call<Customer>('PATCH', '/customers/ext_on-its-way', { name: 'Grace' });
    expect([changed.status, changed.body.name]).toEqual([200, 'Grace']);
    expect((await acme.call<Customer>('GET', `/customers/${id}`)).body.name).toBe('Grace');
    expect((await acme.call<{ id: string }>('DELETE', '/customers/ext_on-its-way')).body).toEqual({ id });
    expect(await management.redis.exists(key)).toBe(0);
    for (const path of ['/customers/ext_on-its-way', `/customers/${id}`]) {
      expect((await acme.call('GET', path)).status).toBe(404);
    }
  });

  it('a deletion waits for the customer’s events, from which the keys of stored responses are derived', async () => {
    const brought = draftCustomer(acme.workspaceId, { externalId: 'with-lead' }, Date.now());
    await addPendingCustomer(management.redis, brought);
    const key = await storeClaim(leadClaim(acme.workspaceId, brought.id, 'Sign up'), 'f:secret@acme.com');
    const deletion = acme.call<{ id: string }>('DELETE', '/customers/ext_with-lead');
    const click = aClick({ workspaceId: parseResourceId('workspace', acme.workspaceId) ?? '' });
    const customerId = parseResourceId('customer', brought.id) ?? '';
    await insertLeads(management.database.client, [
      aLead({ click, customerId, eventName: 'Sign up', timestampMs: Date.now() }),
    ]);
    await writePendingCustomer(management.database.client, brought);
    const workspace = parseResourceId('workspace', acme.workspaceId) ?? '';
    await management.redis.del(`{waymark}:state:pending-customers:${workspace}`);
    expect((await deletion).body).toEqual({ id: brought.id });
    expect(await management.redis.exists(key)).toBe(0);
  });

  it('deleting leaves no personal data that can be read', async () => {
    const { workspaceId } = acme;
    const { body: customer } = await create(acme, {
      externalId: 'secret-id',
      email: 'secret@acme.com',
      name: 'Secret',
    });
    const click = aClick({ workspaceId: parseResourceId('workspace', workspaceId) ?? '' });
    const customerId = parseResourceId('customer', customer.id) ?? '';
    const timestampMs = Date.now();
    await insertLeads(management.database.client, [aLead({ click, customerId, eventName: 'Sign up', timestampMs })]);
    await insertSales(management.database.client, [aSale({ click, customerId, invoiceId: 'inv_1', timestampMs })]);
    const keys = await Promise.all([
      storeClaim(customerClaim(workspaceId, 'secret-id'), 'f:secret@acme.com'),
      storeClaim(leadClaim(workspaceId, customer.id, 'Sign up'), 'f:secret@acme.com'),
    ]);
    const saleKey = await storeClaim(
      invoiceClaim(workspaceId, 'inv_1'),
      `f:{"customer":{"id":"${customer.id}","email":"secret@acme.com"}}`,
    );
    expect(await acme.call('DELETE', '/customers/ext_secret-id')).toEqual({ status: 200, body: { id: customer.id } });
    expect(codeOf(await acme.call('GET', `/customers/${customer.id}`))).toEqual([404, 'not_found']);
    expect(await management.redis.exists(...keys)).toBe(0);
    expect(await management.redis.get(saleKey)).toContain('deleted@customer.com');
    expect(await management.redis.get(saleKey)).not.toContain('secret');
    const cached = await management.redis.keys(`*${customer.id}*`);
    for (const key of cached) expect(await management.redis.get(key)).not.toContain('secret');
    const rows = await management.database.client.query({
      query: 'SELECT argMax(tuple(external_id, email, country, data), version) FROM customers WHERE id = {id:UInt64}',
      query_params: { id: customerId },
      format: 'JSONCompactEachRow',
    });
    expect(await rows.json()).toEqual([[['', '', '', '']]]);
    expect((await create(acme, { externalId: 'secret-id' })).status).toBe(201);
  });
});

describe('permissions', () => {
  it('need the plan business; viewers have no access, members full access, read-only keys cannot write', async () => {
    const pro = await aCaller(management, 'pro');
    expect(codeOf(await pro.call('GET', '/customers'))).toEqual([403, 'forbidden']);
    const [viewer, member, reader] = await Promise.all([
      withKey(management, acme, 'viewer'),
      withKey(management, acme, 'member'),
      withKey(management, acme, 'member', ['apis.read']),
    ]);
    const statuses = async (caller: Caller, externalId: string) => [
      (await caller.call('GET', '/customers')).status,
      (await create(caller, { externalId })).status,
    ];
    expect(await statuses(viewer, 'w1')).toEqual([403, 403]);
    expect(await statuses(member, 'w2')).toEqual([200, 201]);
    expect(await statuses(reader, 'w3')).toEqual([200, 403]);
  });
});
