import { eventsQuerySchema, formatResourceId } from '@waymark/contract';
import { bind, parse } from '@waymark/event-query';
import { expect, onTestFinished, test } from 'vitest';
import { createPlannerCache } from '../src/planner-cache.js';
import { createReads } from '../src/reads.js';
import { aWorkspace, startQuery } from './test-query.js';

test('more links than can be listed, removed at once, are too many to list for a time, not for good', async () => {
  const query = await startQuery();
  onTestFinished(() => query.close());
  const { id: workspaceId } = await aWorkspace(query);
  let nowMs = 0;
  const planCache = createPlannerCache(
    () => nowMs,
    () => true,
  );
  const { signal } = new AbortController();
  const caller = { endpoint: 'test', workspaceId, requestId: 'test', signal };
  const reads = createReads({ clickhouse: query.database.client, planCache }, caller);
  const parsed = parse(eventsQuerySchema.parse({ interval: 'all' }), Date.now(), undefined);
  const bound = bind(parsed, { workspaceId, programId: null });
  const remove = (first: number, count: number) =>
    planCache.onChange({
      ...{ names: [], counted: [], isRecounted: false },
      records: Array.from({ length: count }, (_, index) => ({
        ...{ table: 'links', workspaceId, version: 1, isRemoved: true },
        id: formatResourceId('link', String(first + index)),
      })),
    });

  remove(1, 500);
  expect((await reads.removedLinks(bound)).removedLinks).toHaveLength(500);
  remove(1, 501);
  expect(await reads.removedLinks(bound)).toMatchObject({ hasRemovedLinks: true, isTemporary: true });
  nowMs = 600_000;
  expect(await reads.removedLinks(bound)).toMatchObject({ hasRemovedLinks: false, removedLinks: [] });
});
