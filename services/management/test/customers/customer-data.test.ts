import { insertRows } from '@waymark/clickhouse';
import {
  type Customer,
  type CustomerData,
  createEventId,
  customerDataSchema,
  parseResourceId,
} from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { aClick, aLead, aSale, insertClicks, insertLeads, insertSales } from '@waymark/test-kit';
import { webhookEventIdOf } from '@waymark/webhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  aCaller,
  type Caller,
  startManagement,
  type TestManagement,
  withKey,
} from '../test-management.js';

let management: TestManagement;
let acme: Caller;

beforeAll(async () => {
  management = await startManagement();
  acme = await aCaller(management);
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => management.close());

const number = (kind: 'workspace' | 'customer', id: string) => parseResourceId(kind, id) ?? '';

async function aCustomer(caller: Caller, externalId: string): Promise<Customer> {
  const { body } = await caller.call<Customer>('POST', '/customers', {
    externalId,
    name: `Name of ${externalId}`,
    email: `${externalId}@people.example`,
    country: 'FR',
  });
  return body;
}

const dataOf = (caller: Caller, id: string) => caller.call<CustomerData>('GET', `/customers/${id}/data`);
const codeOf = ({ status, body }: Answer<{ error?: { code: string } }>) => [status, body.error?.code];

interface SentData {
  readonly [member: string]: unknown;
  readonly customer?: object;
  readonly click?: { readonly id: unknown };
}

/** Stores deliveries of leads, and of clicks where no customer is; the last one is the newest. @returns their ids */
async function deliver(caller: Caller, bodies: readonly SentData[]): Promise<string[]> {
  const sent = bodies.map((data, index) => ({
    id: data.customer === undefined ? webhookEventIdOf('link.clicked', String(data.click?.id)) : `evt_${index}`,
    event: data.customer === undefined ? 'link.clicked' : 'lead.created',
    data,
  }));
  const columns = ['workspace_id', 'timestamp', 'webhook_id', 'event_id', 'event', 'attempt', 'url', 'status'] as const;
  await insertRows(management.database.client, {
    table: 'webhook_deliveries',
    columns: [...columns, 'elapsed_ms', 'error', 'request_body', 'response_body'],
    rows: sent.map((body, index) => [
      number('workspace', caller.workspaceId),
      Date.now() - 60_000 + index,
      '7',
      body.id,
      body.event,
      1,
      'https://receiver.example',
      200,
      3,
      '',
      JSON.stringify(body),
      'thanks',
    ]),
  });
  return sent.map(({ id }) => id);
}

describe('GET /customers/{id}/data', () => {
  test('is everything that is held on the customer, and nothing of another, found by id and by external id', async () => {
    const [ada, bob] = [await aCustomer(acme, 'ada'), await aCustomer(acme, 'bob')];
    const workspaceId = number('workspace', acme.workspaceId);
    const click = (timestampMs: number, ip: string) =>
      aClick({ workspaceId, timestampMs, ip, clickId: createEventId(timestampMs), userAgent: `Agent of ${ip}` });
    const now = Date.now();
    const clicks = [
      click(now - 400 * 86_400_000, '198.51.100.1'),
      click(now - 5_000, '198.51.100.2'),
      click(now, '9.9.9.9'),
    ];
    const [old, recent, other] = clicks as [EventRow, EventRow, EventRow];
    await insertClicks(management.database.client, clicks);
    const adaNumber = number('customer', ada.id);
    const lead = { customerId: adaNumber, timestampMs: now, metadata: { seats: 3, note: 'Ada’s "own"' } };
    await insertLeads(management.database.client, [
      // More than a page, all in one millisecond.
      ...Array.from({ length: 120 }, () => aLead({ ...lead, click: old })),
      aLead({ click: other, customerId: number('customer', bob.id), timestampMs: now, metadata: { knows: ada.id } }),
    ]);
    await insertSales(management.database.client, [
      aSale({ click: recent, customerId: adaNumber, timestampMs: now, invoiceId: 'inv_ada' }),
    ]);
    const delivered = await deliver(acme, [
      {
        eventName: 'Sign up',
        customer: { id: ada.id, name: 'Ada' },
        link: { password: 'sealed' },
        click: { id: old[2] },
      },
      { customer: { id: bob.id }, metadata: { knows: ada.id } },
      { click: { id: recent[2] }, link: { key: 'try' } },
      { customer: { id: bob.id }, click: { id: recent[2] } },
    ]);

    const { status, body } = await dataOf(acme, 'ext_ada');
    expect(status).toBe(200);
    const data = customerDataSchema.parse(body);
    expect(data.customer).toMatchObject({
      id: ada.id,
      externalId: 'ada',
      name: 'Name of ada',
      email: 'ada@people.example',
    });
    expect(data.totals).toMatchObject({ sales: 1, saleAmount: 2900 });
    expect(data.clicks.map((one) => [one.click.id, one.click.ip, one.click.ua])).toEqual([
      [old[2], '198.51.100.1', 'Agent of 198.51.100.1'],
      [recent[2], '198.51.100.2', 'Agent of 198.51.100.2'],
    ]);
    expect(new Set(data.leads.map(({ eventId }) => eventId)).size).toBe(120);
    expect(data.leads[0]).toMatchObject({ metadata: { seats: 3, note: 'Ada’s "own"' }, click: { id: old[2] } });
    expect(data.sales).toMatchObject([{ sale: { amount: 2900, invoiceId: 'inv_ada' }, saleType: 'new' }]);
    expect(data.webhookDeliveries.map(({ eventId, received }) => [eventId, received])).toEqual([
      [delivered[0], 'thanks'],
      [delivered[2], 'thanks'],
    ]);
    const text = JSON.stringify(data);
    for (const foreign of [bob.id, '9.9.9.9', 'sealed', 'bob']) expect(text).not.toContain(foreign);
    expect((await dataOf(acme, ada.id)).body).toEqual(body);
  });

  test('is found without reading what was sent of clicks of other people', async () => {
    const caller = await aCaller(management);
    const customer = await aCustomer(caller, 'busy');
    const row = { workspaceId: number('workspace', caller.workspaceId), timestampMs: Date.now() };
    const [click, ...others] = Array.from({ length: 3000 }, (_, index) =>
      aClick({ ...row, clickId: createEventId(row.timestampMs + index) }),
    );
    const lead = aLead({ click: click ?? aClick(row), customerId: number('customer', customer.id) });
    await insertLeads(management.database.client, [lead]);
    const link = { url: 'x'.repeat(10_000) };
    await deliver(
      caller,
      others.map((other) => ({ click: { id: other[2] }, link })),
    );
    const [mine] = await deliver(caller, [{ click: { id: click?.[2] } }]);
    const { client } = management.database;
    const { rows } = client;
    const readBytes: number[] = [];
    vi.spyOn(client, 'rows').mockImplementation((statement) => {
      const onSummary: typeof statement.onSummary = (summary) => {
        statement.onSummary?.(summary);
        if (statement.query.includes('webhook_deliveries')) readBytes.push(summary.readBytes);
      };
      return rows({ ...statement, onSummary });
    });
    const { body } = await dataOf(caller, customer.id);
    expect(body.webhookDeliveries.map(({ eventId }) => eventId)).toEqual([mine]);
    expect(readBytes).toHaveLength(2);
    for (const bytes of readBytes) expect(bytes).toBeLessThan(15_000_000);
  });

  test('of a removed customer, what is left is still answered by id', async () => {
    const customer = await aCustomer(acme, 'gone');
    const row = { workspaceId: number('workspace', acme.workspaceId), timestampMs: Date.now() };
    const click = aClick(row);
    await insertLeads(management.database.client, [
      aLead({ click, customerId: number('customer', customer.id), metadata: { of: 'gone' } }),
    ]);
    await acme.call('DELETE', `/customers/${customer.id}`);
    const { body } = await dataOf(acme, customer.id);
    expect(customerDataSchema.parse(body)).toMatchObject({ customer: null, leads: [{ metadata: { of: 'gone' } }] });
    expect(codeOf(await dataOf(acme, 'ext_gone'))).toEqual([404, 'not_found']);
  });

  test('of a customer without events, it is the record', async () => {
    const customer = await aCustomer(acme, 'quiet');
    expect((await dataOf(acme, customer.id)).body).toMatchObject({
      ...{ clicks: [], leads: [], sales: [], webhookDeliveries: [] },
      customer: { externalId: 'quiet' },
    });
  });

  test('is valid JSON only when it is complete', async () => {
    const customer = await aCustomer(acme, 'cut');
    const click = aClick({ workspaceId: number('workspace', acme.workspaceId) });
    await insertLeads(
      management.database.client,
      Array.from({ length: 101 }, () => aLead({ click, customerId: number('customer', customer.id) })),
    );
    const headers = { authorization: `Bearer ${acme.token}` };
    const { body } = await management.app.inject({ url: `/customers/${customer.id}/data`, headers });
    const isValid = (text: string) => {
      try {
        return customerDataSchema.safeParse(JSON.parse(text)).success;
      } catch {
        return false;
      }
    };
    expect(isValid(body)).toBe(true);
    const beginnings = [...body.matchAll(/[}\]]/g)].map(({ index }) => body.slice(0, index + 1));
    expect(beginnings.slice(0, -1).filter(isValid)).toEqual([]);
    expect(beginnings.length).toBeGreaterThan(200);
  });

  test('takes a slot of the exports of its workspace, and frees it at the end', async () => {
    const customer = await aCustomer(acme, 'slots');
    const take = () => management.exportSlots.take(acme.workspaceId);
    const [first, second] = [take(), take()];
    const refused = await dataOf(acme, customer.id);
    expect(codeOf(refused)).toEqual([429, 'rate_limit_exceeded']);
    first.free();
    expect((await dataOf(acme, customer.id)).status).toBe(200);
    take().free();
    second.free();
  });

  test('is refused to strangers, publishable keys, other workspaces, members, and keys that may not read all of it', async () => {
    const customer = await aCustomer(acme, 'private');
    const path = `/customers/${customer.id}/data`;
    const publishable = await management.catalog.keys.create({
      ...{ workspaceId: acme.workspaceId, name: 'page', kind: 'publishable', role: 'owner', scopes: [] },
    });
    const request = (authorization?: string) =>
      management.app.inject({ url: path, headers: authorization === undefined ? {} : { authorization } });
    expect((await request()).statusCode).toBe(401);
    expect((await request(`Bearer ${publishable.token}`)).statusCode).toBe(401);
    const [stranger, pro, member, viewer, linksOnly, withoutWebhooks] = await Promise.all([
      aCaller(management),
      aCaller(management, 'pro'),
      withKey(management, acme, 'member'),
      withKey(management, acme, 'viewer'),
      withKey(management, acme, 'owner', ['links.read']),
      withKey(management, acme, 'owner', ['apis.all']),
    ]);
    expect(codeOf(await dataOf(stranger, customer.id))).toEqual([404, 'not_found']);
    expect(codeOf(await dataOf(stranger, 'ext_private'))).toEqual([404, 'not_found']);
    for (const caller of [pro, member, viewer, linksOnly, withoutWebhooks]) {
      expect(codeOf(await dataOf(caller, customer.id))).toEqual([403, 'forbidden']);
    }
    const reader = await withKey(management, acme, 'owner', ['apis.read', 'webhooks.read']);
    expect((await dataOf(reader, customer.id)).status).toBe(200);
  });

  test('texts that are not ids are not found, whatever they contain', async () => {
    const hostile = [
      'cus_',
      'cus_0',
      'cus_AzL8n0Y58m7zzzz',
      'ext_',
      "ext_' OR 1=1 --",
      'ext_%00',
      'ext_%',
      'ext_..%2F..',
      'private',
    ];
    for (const id of [...hostile, `ext_${'x'.repeat(4000)}`]) {
      expect([id, ...codeOf(await dataOf(acme, encodeURIComponent(id)))]).toEqual([id, 404, 'not_found']);
    }
  });
});
