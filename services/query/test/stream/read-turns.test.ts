import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPlannerCache } from '../../src/planner-cache.js';
import { createReadRows, type RowRequest } from '../../src/stream/read-rows.js';

/** Creates the reader of streams. The reads of workspaces whose id begins with `busy` have no turn. @returns the workspaces that wait for one */
function aReader() {
  const waiting: string[] = [];
  const readRows = createReadRows({
    ...{ clickhouse: {} as never, planCache: createPlannerCache(Date.now, () => true) },
    runSharedRead(workspaceId) {
      if (!workspaceId.startsWith('busy')) return Promise.resolve([['a row']] as never);
      waiting.push(workspaceId);
      return new Promise(() => undefined);
    },
  });
  const read = (workspaceId: string, id: string) =>
    readRows({ workspaceId, kind: 'clicks', ids: [id], bound: {}, filterKey: '' } as unknown as RowRequest);
  return { read, waiting };
}

test('the streams of a workspace do not wait for those of another, whose reads have to wait', async () => {
  const { read } = aReader();
  for (let slice = 0; slice < 100; slice += 1) void read('busy', `click ${slice}`);
  expect(await read('idle', 'click')).toEqual(['a row']);
});

test.each([
  ['those of one workspace', 1, 3],
  ['all streams together', 100, 20],
])('%s leave room for other reads', async (_whose, workspaces, waitingMax) => {
  const { read, waiting } = aReader();
  for (let workspace = 1; workspace <= workspaces; workspace += 1) {
    for (let slice = 0; slice < 5; slice += 1) void read(`busy ${workspace}`, `click ${slice}`);
  }
  for (let turns = 0; turns < 10; turns += 1) await immediate();
  expect(waiting).toHaveLength(waitingMax);
});
