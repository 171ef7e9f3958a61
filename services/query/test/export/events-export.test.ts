import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ListedEvent } from '@waymark/contract';
import { createExportSlots } from '@waymark/export';
import { waitFor } from '@waymark/test-kit';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aWorkspace, startQuery, type TestQuery, type TestWorkspace, withScopes } from '../test-query.js';
import { type Exported, exported, startExport } from './exported.js';

/** More than a statement reads, and no multiple of it. */
const CLICKS = 4510;

let query: TestQuery;
let world: TestWorkspace;

beforeAll(async () => {
  query = await startQuery();
  await query.app.listen({ host: '127.0.0.1', port: 0 });
  world = await aWorkspace(query);
  const [plain, other] = [await world.aLink({ key: 'a' }), await world.aLink({ key: 'b', externalId: 'b' })];
  const name = '=Ada "Countess", Lovelace';
  const customer = await world.aCustomer({ externalId: 'user_1', name, email: 'ada@example.com' });
  // Three share each millisecond.
  const clicks = Array.from({ length: CLICKS }, (_, index) =>
    world.click(index % 7 === 0 ? other : plain, 1 + Math.floor(index / 3) / 60_000),
  );
  const leads = clicks.slice(0, 40).map((click, index) => world.lead(click, customer, 5 + index));
  const sales = clicks.slice(0, 30).map((click, index) =>
    world.sale(click, customer, index, {
      ...{ amount: 100 + index, invoiceId: `inv_${index}`, metadata: { n: index, text: 'a\r\n"b",c' } },
    }),
  );
  await world.store({ clicks, leads, sales });
});
afterAll(() => query.close());

const linesOf = ({ text }: Exported) => (text === '' ? [] : text.slice(0, -1).split('\n'));
const recordsOf = ({ text }: Exported) => parse(text, { record_delimiter: '\r\n' }) as string[][];

/** All events of a list, by its pages. */
async function listed(workspace: TestWorkspace, parameters: Record<string, string>): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await workspace.events({ ...parameters, limit: '1000', page: String(page) });
    events.push(...body);
    if (body.length < 1000) return events;
  }
}

const idOf = (event: ListedEvent) => (event.event === 'click' ? event.click.id : event.eventId);

describe('NDJSON', () => {
  test.each<Record<string, string>>([
    { event: 'clicks' },
    { event: 'clicks', sortOrder: 'asc' },
    { event: 'clicks', linkId: 'ext_b' },
    { event: 'leads' },
    { event: 'sales', query: "metadata['n'] >= 10" },
    { linkId: '-nope', partnerId: '-nope' },
  ])('has the objects of GET /events, byte for byte and in order: %o', async (parameters) => {
    const response = await exported(world, { ...parameters, format: 'ndjson' });
    const events = await listed(world, parameters);
    expect(events.length).toBeGreaterThan(0);
    expect(linesOf(response)).toEqual(events.map((event) => JSON.stringify(event)));
    expect(response.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(response.headers.trailer).toBe('x-export-rows, x-export-last-id');
    expect(response.trailers).toEqual({
      'x-export-rows': String(events.length),
      'x-export-last-id': idOf(events.at(-1)!),
    });
  });

  test('events of removed links are in neither the list nor the export', async () => {
    const fresh = await aWorkspace(query);
    const [kept, removed] = [await fresh.aLink({ key: 'kept' }), await fresh.aLink({ key: 'removed' })];
    await fresh.store({ clicks: [fresh.click(kept, 1), fresh.click(removed, 2)] });
    await fresh.remove(removed);
    const items = linesOf(await exported(fresh, { format: 'ndjson' })).map((line) => JSON.parse(line) as ListedEvent);
    expect(items.map(({ link }) => link.id)).toEqual([kept.id]);
  });
});

describe('CSV', () => {
  test('has the fields of the events, in the order of `columns`', async () => {
    const columns = 'eventId,customerName,saleAmount,metadata,timestamp,link,tags';
    const response = await exported(world, { event: 'sales', columns });
    const [header, ...records] = recordsOf(response);
    expect(header).toEqual(columns.split(','));
    const fields = (await listed(world, { event: 'sales' })).map((event) => {
      if (event.event !== 'sale') throw new TypeError('no sale');
      const { eventId, customer, sale, metadata, timestamp, link } = event;
      return [
        eventId,
        `'${customer.name}`,
        String(sale.amount),
        JSON.stringify(metadata),
        timestamp,
        link.shortLink,
        '',
      ];
    });
    expect(records).toEqual(fields);
    expect(response.headers['content-disposition']).toBe('attachment; filename="sales-2026-11-21.csv"');
  });

  test('has formulas unchanged when asked to, and the header alone without events', async () => {
    const names = await exported(world, { event: 'leads', columns: 'customerName', escapeFormulas: 'false' });
    expect(recordsOf(names)[1]).toEqual(['=Ada "Countess", Lovelace']);
    for (const [name, value] of Object.entries({ country: 'ZZ', linkId: 'nope', customerId: 'nope' })) {
      const none = await exported(world, { event: 'leads', columns: 'eventId,ip', [name]: value });
      expect(none.text).toBe('eventId,ip\r\n');
      expect(none.trailers).toMatchObject({ 'x-export-rows': '0' });
    }
  });
});

describe('an export that was cut off', () => {
  test.each(['desc', 'asc'])(
    'continues with exactly the rest, although events arrived since: %s',
    async (sortOrder) => {
      const fresh = await aWorkspace(query);
      const link = await fresh.aLink({ key: 'a' });
      await fresh.store({
        clicks: Array.from({ length: 50 }, (_, index) => fresh.click(link, 2 + Math.floor(index / 3))),
      });
      for (const format of ['ndjson', 'csv']) {
        const shape = { format, sortOrder, columns: 'clickId' };
        const whole = await exported(fresh, { ...shape, interval: 'all' });
        await fresh.store({ clicks: [fresh.click(link, -1)] });
        const range = Object.fromEntries(new URLSearchParams(String(whole.headers['x-export-range'])));
        const lines = whole.text.split(format === 'csv' ? '\r\n' : '\n');
        const headerLines = format === 'csv' ? 1 : 0;
        for (const arrived of [1, 7, 49, 50]) {
          const got = lines.slice(0, arrived + headerLines);
          const last = got.at(-1)!;
          const startingAfter = format === 'csv' ? last : (JSON.parse(last) as { click: { id: string } }).click.id;
          const rest = await exported(fresh, { ...shape, ...range, startingAfter });
          const separator = format === 'csv' ? '\r\n' : '\n';
          const counters = /"(?:clicks|lastClicked)":[^,]+/g;
          const comparable = (text: string) => text.replaceAll(counters, '');
          expect(comparable(got.map((line) => line + separator).join('') + rest.text)).toBe(comparable(whole.text));
        }
      }
    },
  );

  test('never looks complete: when ClickHouse fails in the middle, the connection is cut', async () => {
    const response = await startExport(world, { format: 'ndjson' });
    const { client } = query.database;
    const rows = client.lazyRows;
    // The first page has been read already.
    client.lazyRows = () => Promise.reject(new Error('ClickHouse is away'));
    try {
      await expect(response.arrayBuffer()).rejects.toThrow();
    } finally {
      client.lazyRows = rows;
    }
  });
});

test('its statements are small while others read, so that these do not wait; it has every event all the same', async () => {
  const { client } = query.database;
  const rows = client.lazyRows;
  let statements = 0;
  client.lazyRows = <Row extends readonly unknown[]>(...args: Parameters<typeof rows>) => {
    statements += 1;
    return rows.apply(client, args) as Promise<Iterable<Row>>;
  };
  const run = async () => {
    statements = 0;
    const { text } = await exported(world, { columns: 'clickId' });
    return { text, statements };
  };
  let reading = true;
  const read = async () => {
    while (reading) await world.events({ limit: '1' });
  };
  try {
    const alone = await run();
    const readers = Promise.all([read(), read(), read()]);
    const beside = await run();
    reading = false;
    await readers;
    // The first page has a hundred rows, because nothing tells yet how large they are.
    expect(alone.statements).toBe(1 + Math.ceil((CLICKS - 100) / 4000));
    expect(beside.statements).toBeGreaterThan(alone.statements);
    expect(beside.text).toBe(alone.text);
  } finally {
    reading = false;
    client.lazyRows = rows;
  }
});

describe('the limits of exports', () => {
  test('a workspace runs two at a time; a third is refused until one ends or its client leaves', async () => {
    const first = await startExport(world, { format: 'ndjson' });
    const second = await startExport(world, { format: 'ndjson' });
    const third = await startExport(world, { format: 'ndjson' });
    expect(third.status).toBe(429);
    expect(third.headers.get('retry-after')).toBe('10');
    expect(await third.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const other = await aWorkspace(query);
    expect((await exported(other, { format: 'ndjson' })).status).toBe(200);
    await first.body?.cancel();
    await waitFor(async () => (await exported(world, { event: 'leads' })).status === 200, {
      what: 'a free slot',
      // Before the slot of a client that reads nothing is freed.
      timeoutMs: 20_000,
    });
    expect(linesOf({ text: await second.text() } as Exported)).toHaveLength(CLICKS);
  });

  test('clients that leave before their response begins free their slots, also behind other requests on a connection', async () => {
    const { port } = query.app.server.address() as AddressInfo;
    for (const requests of [3, 2]) {
      const socket = connect(port, '127.0.0.1');
      const path = '/events/export?format=ndjson';
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\n\r\n`.repeat(requests));
      await once(socket, 'data');
      socket.destroy();
    }
    const both = async () => {
      const started = await Promise.all([1, 2].map(() => startExport(world, { format: 'ndjson' })));
      await Promise.all(started.map(({ body }) => body?.cancel()));
      return started.every(({ status }) => status === 200);
    };
    await waitFor(both, { what: 'two free slots', timeoutMs: 20_000 });
  });
});

test('HTTP/1.0, which cannot show that a body is complete, is refused, and takes no slot', async () => {
  const { port } = query.app.server.address() as AddressInfo;
  for (let request = 1; request <= 3; request++) {
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /events/export HTTP/1.0\r\nauthorization: Bearer ${world.token}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 [\s\S]*Exports need HTTP\/1.1/);
  }
});

test('shutdown ends the exports of clients that read slowly', async () => {
  const exportSlots = createExportSlots({ closeGraceMs: 10 });
  const other = await startQuery(undefined, { exportSlots });
  try {
    await other.app.listen({ host: '127.0.0.1', port: 0 });
    const workspace = await aWorkspace(other);
    const link = await workspace.aLink({ key: 'a' });
    await workspace.store({ clicks: Array.from({ length: CLICKS }, () => workspace.click(link, 1)) });
    const response = await startExport(workspace, { format: 'ndjson' });
    await other.app.close();
    await expect(response.arrayBuffer()).rejects.toThrow();
  } finally {
    await other.close();
  }
});

describe('refusals', () => {
  test.each<[Record<string, string>, number, string]>([
    [{ format: 'xlsx' }, 422, 'format'],
    [{ columns: 'clickId,nonsense' }, 422, 'columns: has no column "nonsense"'],
    [{ columns: 'eventId' }, 422, 'columns: has no column "eventId"'],
    [{ page: '2' }, 422, 'page'],
    [{ limit: '5' }, 422, 'limit'],
    [{ contry: 'DE' }, 422, 'did you mean "country"'],
    [{ query: "metadata['" }, 422, 'query'],
    [{ startingAfter: 'nonsense' }, 422, 'startingAfter: must be the id of a click of this workspace'],
    [{ startingAfter: '' }, 422, 'startingAfter'],
    [{ escapeFormulas: 'maybe' }, 400, 'escapeFormulas'],
    [{ continent: 'XX' }, 422, 'continent'],
  ])('%o gives %i and names it', async (parameters, status, message) => {
    const response = await exported(world, parameters);
    expect(response.status, response.text).toBe(status);
    expect((JSON.parse(response.text) as { error: { message: string } }).error.message).toContain(message);
  });

  test('an event of another workspace is no place to continue', async () => {
    const other = await aWorkspace(query);
    const foreign = other.click(await other.aLink({ key: 'a' }), 3);
    await other.store({ clicks: [foreign] });
    const startingAfter = String(foreign[2]);
    expect((await exported(world, { startingAfter })).status).toBe(422);
    expect((await exported(other, { startingAfter })).status).toBe(200);
  });

  test('a caller gets the answer of GET /events: without a key, with a small plan, without the permission', async () => {
    const anonymous = await query.app.inject('/events/export');
    expect([anonymous.statusCode, anonymous.json().error.code]).toEqual([401, 'unauthorized']);
    expect((await exported(await aWorkspace(query, 'pro'), {})).status).toBe(403);
    expect((await exported(await withScopes(world, ['links.read']), {})).status).toBe(403);
  });

  test('a workspace exports none of the events of another', async () => {
    const other = await aWorkspace(query);
    expect((await exported(other, { format: 'ndjson', interval: 'all' })).text).toBe('');
  });
});

test('a client that accepts gzip gets the same bytes, compressed', async () => {
  const plain = await exported(world, { event: 'sales', format: 'ndjson' });
  // fetch decompresses by itself.
  const response = await startExport(world, { event: 'sales', format: 'ndjson' }, { 'accept-encoding': 'GZIP' });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  expect(await response.text()).toBe(plain.text);
});
