import { insertRows } from '@waymark/clickhouse';
import { createResourceId, formatResourceId } from '@waymark/contract';
import { startStores, type TestStores } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { numberOf, recordColumns, recordRow } from '../../src/model/entity-type.js';
import { erasureType } from '../../src/model/entity-types.js';
import type { ErasureRecord } from '../../src/model/job-record-schemas.js';
import { aWorkspace } from '../test-catalog.js';

const PER_DAY = 20_000;
const DAY_MS = 24 * 3_600_000;

let stores: TestStores;
beforeAll(async () => {
  stores = await startStores();
});
afterAll(() => stores.close());

it('a workspace may have 20,000 new erasures in 24 hours, of which every process has all', async () => {
  const nowMs = Date.now();
  const catalog = stores.catalog({ now: () => nowMs });
  const { workspace } = await aWorkspace(catalog);
  const accept = (of: typeof catalog, externalId: string, workspaceId = workspace.id) =>
    of.erasures.accept(workspaceId, { externalId, customerIds: [] }, 'anonymise');
  const first = await accept(catalog, 'first');
  const customerOf = (index: number) => formatResourceId('customer', String(index + 1));
  const erasures = Array.from({ length: PER_DAY - 1 }, (_none, index): ErasureRecord => {
    const id = createResourceId('erasure', nowMs);
    return { ...first, id, subjectHash: null, customerIds: [customerOf(index)] };
  });
  await insertRows(stores.database.client, {
    ...{ table: erasureType.table, columns: recordColumns(erasureType), maxExecutionSeconds: 10, settings: {} },
    rows: erasures.map((record) => recordRow(erasureType, { version: nowMs, record })),
  });

  await expect(accept(catalog, 'one more')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    retryAfterSeconds: 3_600,
  });
  // A repeat is not a new one, and other workspaces have their own.
  expect((await accept(catalog, 'first')).id).toBe(first.id);
  const other = await aWorkspace(catalog);
  expect((await accept(catalog, 'one more', other.workspace.id)).status).toBe('accepted');
  const tomorrow = stores.catalog({ now: () => nowMs + DAY_MS + 1 });
  expect((await accept(tomorrow, 'one more')).status).toBe('accepted');

  const people = await stores.catalog().erasures.people.current();
  const missing = erasures.filter((_one, index) => people?.modeOfId(workspace.id, customerOf(index)) === undefined);
  expect(missing).toEqual([]);
  const waiting = await catalog.erasures.waiting({ erasures: 1_000, ids: 700 });
  expect(waiting[0]?.id).toBe(first.id);
  expect(waiting).toHaveLength(800);
  expect(waiting.map(({ id }) => id)).toEqual(waiting.map(({ id }) => id).sort());
}, 60_000);

it('a workspace may have 100,000 erasures in 31 days, of which removed ones count', async () => {
  const nowMs = Date.now();
  const catalog = stores.catalog({ now: () => nowMs });
  const { workspace } = await aWorkspace(catalog);
  const ids = `bitShiftLeft(toUInt64(${nowMs - 2 * DAY_MS}), 22)`;
  const insert = (rows: number, from: number) =>
    stores.database.client.command({
      query: `INSERT INTO ${erasureType.table} (workspace_id, id, version, deleted)
SELECT ${numberOf('workspace', workspace.id)}, ${ids} + ${from} + number, 1, 1 FROM numbers(${rows})`,
    });
  const accept = (externalId: string) =>
    catalog.erasures.accept(workspace.id, { externalId, customerIds: [] }, 'anonymise');
  await insert(99_998, 0);
  expect((await accept('the last but one')).status).toBe('accepted');
  await insert(1, 99_998);
  await expect(accept('one more')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    message: expect.stringContaining('100000 new erasures in 31 days'),
  });
}, 60_000);
