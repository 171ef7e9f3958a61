import { insertRows } from '@waymark/clickhouse';
import { aClick, insertClicks, startTestReplicas, type TestReplicas } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createStoredEvents } from '../../src/history/stored-events.js';

let replicas: TestReplicas;
const WORKSPACE = '840';

beforeAll(async () => {
  replicas = await startTestReplicas();
});
afterAll(() => replicas.stop());

it('clicks and aliases that the replica which is read lacks are found on another one', async () => {
  const timestampMs = Date.UTC(2024, 3, 5);
  const [here, there] = [1, 2].map((n) => aClick({ workspaceId: WORKSPACE, timestampMs: timestampMs + n }));
  if (here === undefined || there === undefined) expect.fail();
  const [hereId, thereId] = [here, there].map((row) => String(row[2])) as [string, string];
  await insertClicks(replicas.first, [here]);
  await insertClicks(replicas.second, [there]);
  await insertRows(replicas.second, {
    table: 'click_aliases',
    columns: ['workspace_id', 'alias', 'click_id', 'clicked_at'],
    rows: [[WORKSPACE, 'alias of dub', thereId, timestampMs]],
  });
  const stored = createStoredEvents(replicas.first, WORKSPACE, replicas.cluster);
  const clicks = await stored.clicks([hereId, thereId]);
  const [first, second] = [clicks.get(hereId), clicks.get(thereId)];
  expect(second).toHaveLength(here.length);
  // The two differ only in the columns in which the rows do.
  expect(second).toEqual(first?.map((value, at) => (here[at] === there[at] ? value : there[at])));
  expect(await stored.aliases(['alias of dub'])).toEqual(new Map([['alias of dub', thereId]]));
  for (const table of ['click_events', 'click_aliases']) await replicas.setStates(table, { inserts: 1 }, {});
  expect(await stored.clicks([hereId, thereId])).toEqual(clicks);
  expect(await stored.aliases(['alias of dub', 'unknown'])).toEqual(new Map([['alias of dub', thereId]]));
});
