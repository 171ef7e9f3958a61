import { createEventId, formatResourceId } from '@waymark/contract';
import { anonymisedRow, type EventRow } from '@waymark/event-format';
import {
  aClick,
  aLead,
  aSale,
  createTestDatabase,
  insertClicks,
  insertLeads,
  insertSales,
  type TestDatabase,
  waitFor,
} from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  countUnerased,
  type ErasureBatch,
  erasureProgress,
  prepareErasure,
  prepareSubtraction,
  startErasure,
} from '../../src/index.js';

const AT = Date.UTC(2026, 10, 2, 10, 30);
const CANARY = 'canary7f';
const KEPT_COUNTERS = ['link_totals', 'workspace_slots', 'link_days', 'customer_totals'] as const;

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  for (const table of ['click_events', 'lead_events', 'sale_events', 'click_aliases', ...KEPT_COUNTERS]) {
    await database.client.command({ query: `TRUNCATE TABLE ${table}` });
  }
});

/** A click, a lead and two sales of a customer, with a text in each field that takes one. */
function journey(
  customer: number,
  atMs = AT,
  metadata?: Record<string, unknown>,
): { click: EventRow; lead: EventRow; sales: EventRow[] } {
  const text = `${CANARY}-${customer}`;
  const click = aClick({
    ...{ workspaceId: '5', linkId: String(7 + (customer % 2)), timestampMs: atMs, clickId: createEventId(atMs) },
    ...{
      url: `https://acme.com/${text}?utm_term=${text}&utm_source=${text}`,
      userAgent: text,
      city: text,
      region: text,
    },
    ...{ referer: text, refererUrl: `https://${text}/a`, ip: text },
  });
  const of = { click, customerId: String(customer), metadata: { [text]: text, ...metadata } };
  return {
    click,
    lead: aLead({ ...of, timestampMs: atMs + 1_000, eventName: text }),
    sales: [
      aSale({ ...of, timestampMs: atMs + 2_000, eventName: 'Purchase', invoiceId: text, amount: 100 * customer }),
      aSale({ ...of, timestampMs: atMs + 3_000, eventName: 'Purchase', invoiceId: `${text}b`, saleType: 'recurring' }),
    ],
  };
}

async function insert(journeys: readonly ReturnType<typeof journey>[]): Promise<void> {
  await insertClicks(
    database.client,
    journeys.map(({ click }) => click),
  );
  await insertLeads(
    database.client,
    journeys.map(({ lead }) => lead),
  );
  await insertSales(
    database.client,
    journeys.flatMap(({ sales }) => sales),
  );
}

function batchOf(
  customers: readonly number[],
  journeys: readonly ReturnType<typeof journey>[],
  isDeleted: boolean,
): ErasureBatch {
  return {
    id: crypto.randomUUID(),
    customers: customers.map((customer) => ({
      workspace: '5',
      customer: String(customer),
      publicId: formatResourceId('customer', String(customer)),
      isDeleted,
    })),
    clicks: journeys.map(({ click }) => {
      const clickId = String(click[2]);
      return { workspace: '5', clickId, isDeleted, deliveryId: `evt_${clickId}` };
    }),
  };
}

const target = () => ({ client: database.client });

const subtract = async (batch: ErasureBatch) => (await prepareSubtraction(target(), batch))?.run(() => undefined);
const start = async (batch: ErasureBatch) => startErasure(target(), await prepareErasure(target(), batch));

async function erase(batch: ErasureBatch): Promise<void> {
  await start(batch);
  await waitFor(async () => (await erasureProgress(target(), batch)).running === 0, { what: 'the mutations' });
}

const rowsOf = (table: string, where = '1') =>
  database.client.rows<unknown[]>({ query: `SELECT * FROM ${table} WHERE ${where} ORDER BY ALL` });

/** Sums as they are read, without rows that add up to nothing. */
async function counters(): Promise<unknown> {
  const { client } = database;
  const read = (query: string) => client.rows<unknown[]>({ query });
  return {
    links: await read(
      'SELECT link_id, sum(clicks), sum(leads), sum(conversions), sum(sales), sum(sale_amount) FROM link_totals GROUP BY link_id HAVING sum(clicks) + sum(leads) > 0 ORDER BY 1',
    ),
    days: await read(
      'SELECT link_id, day, sum(clicks) AS c, sum(leads), sum(sales), sum(sale_amount) FROM link_days GROUP BY link_id, day HAVING c > 0 ORDER BY 1, 2',
    ),
    slots: await read(
      'SELECT slot, sum(clicks) AS c, sum(leads), sum(sales), sum(sale_amount) FROM workspace_slots GROUP BY slot HAVING c > 0 ORDER BY 1',
    ),
    customers: await read(
      'SELECT customer_id, sum(leads), sum(sales), sum(sale_amount), min(first_sale_at) FROM customer_totals GROUP BY customer_id ORDER BY 1',
    ),
  };
}

describe('anonymise', () => {
  it('leaves no text in any column, keeps every counter, and changes no row of another customer', async () => {
    const journeys = [journey(10), journey(11, AT + 86_400_000), journey(12)];
    await insert(journeys);
    const others = await Promise.all(['lead_events', 'sale_events'].map((table) => rowsOf(table, 'customer_id = 12')));
    const before = await counters();
    const batch = batchOf([10, 11], journeys.slice(0, 2), false);
    await erase(batch);

    const all = JSON.stringify(
      await Promise.all(['click_events', 'lead_events', 'sale_events'].map((table) => rowsOf(table))),
    );
    expect(all).not.toContain(`${CANARY}-10`);
    expect(all).not.toContain(`${CANARY}-11`);
    expect(await Promise.all(['lead_events', 'sale_events'].map((table) => rowsOf(table, 'customer_id = 12')))).toEqual(
      others,
    );
    expect(await counters()).toEqual(before);
    expect(await countUnerased(target(), batch)).toBe(0);
  });

  it.each([
    ['plain', {}],
    ['with an integer of more than 64 bits', { wei: 120000000000000000000, below: -9300000000000000000 }],
    ['nested deeply', { deep: JSON.parse(`${'['.repeat(90)}1${']'.repeat(90)}`) }],
    ['that looks like a sale', { sale: { amount: 1, invoiceId: '","paymentProcessor":"x","currency":"y"},' } }],
  ])('anonymises a stored row as it anonymises a late one, with metadata %s', async (_what, metadata) => {
    const journeys = [journey(10, AT, metadata)];
    await insert(journeys);
    await erase(batchOf([10], journeys, false));
    const [stored] = await database.client.rows<string[]>({
      query: 'SELECT payload FROM sale_events ORDER BY timestamp LIMIT 1',
    });
    const [late] = journeys.flatMap(({ sales }) => sales.map((sale) => anonymisedRow('sale', sale)));
    expect(JSON.parse(stored?.[0] ?? '')).toEqual(JSON.parse(String(late?.at(-5))));
    expect(JSON.stringify(late)).not.toContain(CANARY);
  });

  it('keeps an event name that another customer has, and no other', async () => {
    const journeys = [journey(10), journey(12)];
    await insert(journeys);
    await erase(batchOf([10], journeys.slice(0, 1), false));
    const names = (table: string) =>
      database.client.rows({ query: `SELECT DISTINCT event_name FROM ${table} WHERE customer_id = 10` });
    expect([await names('lead_events'), await names('sale_events')]).toEqual([[['Erased']], [['Purchase']]]);
  });

  it('starts one mutation in each table for a thousand customers, however often it is started', async () => {
    const customers = Array.from({ length: 1000 }, (_, index) => 10_000 + index);
    const journeys = customers.map((customer) => journey(customer));
    await insert(journeys);
    const batch = batchOf(customers, journeys, false);
    expect(await start(batch)).toBe(7);
    expect(await start(batch)).toBe(0);
    const mutations = await database.client.rows({
      query: `SELECT table, uniqExact(mutation_id) FROM system.mutations WHERE database = currentDatabase()
        AND position(command, {id:String}) > 0 GROUP BY table`,
      parameters: { id: batch.id },
    });
    expect(mutations.map(([, count]) => count)).toEqual(Array.from({ length: 7 }, () => '1'));
    await waitFor(async () => (await erasureProgress(target(), batch)).running === 0, { what: 'the mutations' });
    expect(JSON.stringify(await rowsOf('lead_events'))).not.toContain(CANARY);
  });

  it('removes the ids that another system gave to the clicks, and no others', async () => {
    const [erased, other] = [journey(10), journey(11)];
    await insert([erased, other]);
    for (const { click } of [erased, other]) {
      const query = `INSERT INTO click_aliases VALUES (5, '${CANARY}-${click[2]}', '${click[2]}', '2026-11-02 10:30:00')`;
      await database.client.command({ query });
    }
    await erase(batchOf([10], [erased], false));
    const kept = await database.client.rows<[string]>({ query: 'SELECT toString(click_id) FROM click_aliases' });
    expect(kept).toEqual([[String(other.click[2])]]);
  });

  it('removes the records of a customer, and keeps the mark that the customer was removed', async () => {
    const record = (id: number, version: number, deleted: number) =>
      `(5, ${id}, ${version}, ${deleted}, '', '', '', 0, '2026-11-02 10:30:00', '')`;
    for (const values of [record(10, 1, 0), record(11, 1, 0), record(10, 2, 1)]) {
      await database.client.command({ query: `INSERT INTO customers VALUES ${values}` });
    }
    await erase(batchOf([10], [], false));
    const query = 'SELECT id, version, deleted FROM customers ORDER BY ALL';
    expect(await database.client.rows({ query })).toEqual([
      ['10', '2', 1],
      ['11', '1', 0],
    ]);
    await database.client.command({ query: 'TRUNCATE TABLE customers' });
  });

  it('counts a row whose only text is in its metadata as not erased', async () => {
    const clickId = createEventId(AT);
    const bare = { city: 'Unknown', url: '', refererUrl: '(direct)', ip: '' };
    const click = aClick({ workspaceId: '5', linkId: '7', timestampMs: AT, clickId, ...bare });
    const of = { click, customerId: '10', timestampMs: AT };
    await insertLeads(database.client, [aLead(of), aLead({ ...of, metadata: { name: 'Ada' } })]);
    expect(await countUnerased(target(), batchOf([10], [], false))).toBe(1);
  });

  it('counts the parts from before as old until they are removed from the disk', async () => {
    const journeys = [journey(10)];
    await insert(journeys);
    const batch = batchOf([10], journeys, false);
    await erase(batch);
    expect((await erasureProgress(target(), batch)).oldParts).toBeGreaterThan(0);
  });
});

describe('delete', () => {
  it('leaves counters, roll-ups and totals as if the customer had never existed', async () => {
    const journeys = [journey(10), journey(11, AT + 86_400_000), journey(12), journey(13)];
    await insert(journeys.slice(1));
    const withoutCustomer = await counters();
    for (const table of ['click_events', 'lead_events', 'sale_events', ...KEPT_COUNTERS]) {
      await database.client.command({ query: `TRUNCATE TABLE ${table}` });
    }
    await insert(journeys);
    const batch = batchOf([10], journeys.slice(0, 1), true);
    await subtract(batch);
    // As after a kill: what is repeated has no effect.
    await subtract(batch);
    expect((await prepareErasure(target(), batch)).isStarted).toBe(false);
    await erase(batch);
    expect(await prepareErasure(target(), batch)).toMatchObject({ isStarted: true, missing: [] });
    expect(await counters()).toEqual(withoutCustomer);
    expect(JSON.stringify(await rowsOf('sale_events'))).not.toContain(`${CANARY}-10`);
    expect(await countUnerased(target(), batch)).toBe(0);
  });

  it('takes as many people and clicks as a batch may have', async () => {
    const events = journey(10);
    await insert([events]);
    const batch = batchOf(
      Array.from({ length: 6_000 }, (_none, index) => 10 + index),
      [events],
      true,
    );
    const others = Array.from({ length: 6_000 }, (_none, index) => createEventId(AT + index));
    const clicks = [
      ...batch.clicks,
      ...others.map((clickId) => ({ workspace: '5', clickId, isDeleted: true, deliveryId: `evt_${clickId}` })),
    ];
    const large = { ...batch, clicks };
    expect(await countUnerased(target(), large)).toBe(4);
    await subtract(large);
    await erase(large);
    expect(await countUnerased(target(), large)).toBe(0);
    expect(await rowsOf('sale_events')).toEqual([]);
  });
});
