import { createReplication } from '@waymark/redis';
import { aClick, aLead, aSale, startRedis, type TestRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { customerClaim, invoiceClaim, leadClaim } from '../../src/claims/claim-names.js';
import { eraseClaims, eraseDeadLetters } from '../../src/erasure/erase-queued.js';
import {
  type ErasedInRows,
  type FoundInRows,
  type LateRows,
  withoutErased,
  withoutErasedRows,
} from '../../src/erasure/late-rows.js';
import { queuedReferences } from '../../src/erasure/queued-references.js';
import { createDeadLetters, type DeadLetter, listDeadLetters } from '../../src/queue/dead-letters.js';
import { joinRows, silentRow } from '../../src/queue/job-rows.js';
import { claimKey, queueKey, rowsKey } from '../../src/queue/keys.js';
import type { EventTable } from '../../src/writer/event-table.js';
import { alone } from '../alone.js';

const CANARY = 'canary3k';
const click = aClick({ ip: CANARY, userAgent: CANARY, url: `https://acme.com/${CANARY}`, city: CANARY });
const CLICK_ID = String(click[2]);
const known = aClick();
const KNOWN_ID = String(known[2]);
const lead = (customerId: string) => JSON.stringify(aLead({ click, customerId, metadata: { [CANARY]: 1 } }));
const sale = (customerId: string) => JSON.stringify(aSale({ click, customerId, invoiceId: CANARY }));

/** Customer 3 is anonymised, customer 4 deleted, `ann` was erased before customer 5 was made. */
const people: ErasedInRows = {
  modeOfCustomer: (workspace, customer) =>
    workspace !== '1' ? undefined : ({ 3: 'anonymise', 4: 'delete' } as const)[customer],
  modeOfClick: (workspace, id) => (workspace === '1' && id === CLICK_ID ? 'anonymise' : undefined),
  erasureOf: (_workspace, number, externalId) =>
    externalId === 'ann' && Number(number) < 5 ? { id: 'era_1', workspaceId: 'ws_1' } : undefined,
  erasuresWithout: (_workspace, number, clickId) =>
    clickId === KNOWN_ID ? [] : [{ id: `era_${number}`, workspaceId: 'ws_1' }],
};
const found: [erasure: string, found: FoundInRows][] = [];
const lateRows: LateRows = {
  current: async () => people,
  onFound: async ({ id }, more) => void found.push([id, more]),
};

let server: TestRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
beforeEach(async () => {
  found.length = 0;
  await redis.flushall();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

it('a late row of an anonymised person is stored without texts, one of a deleted person not at all', async () => {
  const inserted: string[] = [];
  const table: EventTable = {
    isSharded: false,
    supports: () => true,
    insert: async (_version, rows) => void inserted.push(...rows),
    findPresent: async () => new Set(),
    hasMovedSince: async () => false,
  };
  const other = lead('9');
  await withoutErasedRows(table, 'lead', lateRows).insert(1, [lead('3'), lead('4'), other], 'token');
  expect(inserted).toHaveLength(2);
  expect(inserted[0]).not.toContain(CANARY);
  expect(inserted[1]).toBe(other);
  expect(withoutErased('sale', sale('3'), people)).not.toContain(CANARY);
  expect(withoutErased('click', JSON.stringify(click), people)).not.toContain(CANARY);
});

it('the clicks that late leads and sales name are added to the erasures of their customers before the rows are dropped', async () => {
  const insert = async () => {
    expect(found.length).toBeGreaterThan(0);
  };
  const table = withoutErasedRows({ insert } as unknown as EventTable, 'lead', lateRows);
  const other = JSON.stringify(aLead({ click: aClick(), customerId: '9' }));
  await table.insert(1, [lead('4'), lead('4'), lead('3'), other], 'token');
  expect(found).toEqual([
    ['era_4', { clickIds: [CLICK_ID] }],
    ['era_3', { clickIds: [CLICK_ID] }],
  ]);
  found.length = 0;
  // A click that the erasure has already, and clicks themselves, add nothing.
  await withoutErasedRows({ insert: async () => {} } as unknown as EventTable, 'sale', lateRows).insert(
    1,
    [JSON.stringify(aSale({ click: known, customerId: '4' }))],
    'token',
  );
  await withoutErasedRows({ insert: async () => {} } as unknown as EventTable, 'click', lateRows).insert(
    1,
    [JSON.stringify(click)],
    'token',
  );
  expect(found).toEqual([]);
});

it('an insert whose clicks could not be added is repeated, and not taken for rows that ClickHouse refuses', async () => {
  const failing: LateRows = { ...lateRows, onFound: () => Promise.reject(new Error('Code: 27. refused')) };
  const table = withoutErasedRows({ insert: async () => {} } as unknown as EventTable, 'lead', failing);
  await expect(table.insert(1, [lead('4')], 'token')).rejects.toThrow('an erasure could not be extended');
});

it('a row of another workspace with the same numbers stays as it is', () => {
  const row = JSON.stringify(aLead({ click: aClick({ workspaceId: '2' }), customerId: '3' }));
  expect(withoutErased('lead', row, people)).toBe(row);
});

it('a late row that is not sent to webhooks stays one', () => {
  expect(withoutErased('lead', silentRow(lead('3')), people)).toMatch(/ \]$/);
});

it('without erasures an insert gets the same list of rows', async () => {
  const lists: (readonly string[])[] = [];
  const table = { insert: async (_version: number, rows: readonly string[]) => void lists.push(rows) };
  const rows = [lead('3')];
  const none: LateRows = { ...lateRows, current: async () => undefined };
  await withoutErasedRows(table as unknown as EventTable, 'lead', none).insert(1, rows, 'token');
  expect(lists[0]).toBe(rows);
});

it('dead letters lose the texts of an erased person, and a customer of the erased external id', async () => {
  const letter = (index: number, kind: DeadLetter['kind'], row: string): DeadLetter => ({
    ...{ kind, version: 1, row, error: `refused: ${row}`, at: 1, jobId: 'job', index },
  });
  const customer = (number: string) =>
    JSON.stringify([
      '1',
      number,
      1,
      0,
      'ann',
      JSON.stringify({ email: `${CANARY}@example.com`, clickId: 'first-click' }),
    ]);
  await createDeadLetters(redis, alone(redis)).park([
    ...[letter(0, 'lead', lead('3')), letter(1, 'sale', sale('4')), letter(2, 'customer', customer('2'))],
    ...[letter(3, 'customer', customer('6')), letter(4, 'lead', lead('9'))],
  ]);
  await eraseDeadLetters(redis, people, lateRows);
  const { letters, total } = await listDeadLetters(redis);
  expect([total, letters.map(({ index }) => index).sort()]).toEqual([3, [0, 3, 4]]);
  const [anonymised] = letters.filter(({ index }) => index === 0);
  expect(JSON.stringify(anonymised)).not.toContain(CANARY);
  expect(found.sort(([one], [other]) => (one < other ? -1 : 1))).toEqual([
    ['era_1', { customerNumber: '2', clickIds: ['first-click'] }],
    ['era_3', { clickIds: [CLICK_ID] }],
    ['era_4', { clickIds: [CLICK_ID] }],
  ]);
});

it('the clicks, event names and invoices of a person are found in queued leads and sales, also while a writer works on them', async () => {
  const other = lead('9');
  const of = (clickRow: typeof click, customerId: string) =>
    JSON.stringify(aSale({ click: clickRow, customerId, invoiceId: CANARY }));
  await redis.lpush(queueKey('lead', 'wait'), 'a', 'b');
  await redis.lpush(queueKey('sale', 'active'), 'c');
  await redis.set(rowsKey('lead', 'a'), joinRows([other, lead('4')]));
  await redis.set(rowsKey('sale', 'c'), joinRows([of(known, '4'), of(aClick(), '44')]));
  const { clickIds, ...names } = await queuedReferences(redis, '1', ['4', '5']);
  expect([...clickIds].sort()).toEqual([CLICK_ID, KNOWN_ID].sort());
  expect(names).toEqual({ eventNames: ['Sign up'], invoiceIds: [CANARY] });
  expect(await queuedReferences(redis, '2', ['4'])).toEqual({ clickIds: [], eventNames: [], invoiceIds: [] });
});

it('final claims with a copy of the person are removed, those of others and pending ones stay', async () => {
  await redis.mset(
    claimKey(customerClaim('ws_1', 'ann')),
    'f:{"id":"cus_ann"}',
    claimKey(leadClaim('ws_1', 'cus_ann', 'Sign up')),
    `f:${CLICK_ID}`,
    claimKey(invoiceClaim('ws_1', 'in_1')),
    'f:{"customer":{"id":"cus_ann"}}',
  );
  const [others, pending] = [customerClaim('ws_1', 'bob'), invoiceClaim('ws_1', 'in_2')].map(claimKey) as [
    string,
    string,
  ];
  await redis.mset(others, 'f:{"id":"cus_bob"}', pending, 'p:cus_ann');
  await eraseClaims(redis, createReplication(redis, 0), ['ws_1'], ['cus_ann', CLICK_ID]);
  const mark = claimKey('filters:ws_1');
  expect((await redis.keys('*')).sort()).toEqual([others, mark, pending]);
  expect(await redis.get(mark)).toBe('f:blocked');
});
