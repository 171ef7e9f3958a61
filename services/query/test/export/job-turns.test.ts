import type { Catalog } from '@waymark/catalog';
import type { LinkCaller } from '@waymark/record-lists';
import { expect, it } from 'vitest';
import { createJobSources } from '../../src/jobs/job-source.js';
import { createPlannerCache } from '../../src/planner-cache.js';
import { createReadRunners } from '../../src/workspace-concurrency.js';

const caller = { workspace: { id: 'ws_1' }, apiKey: { role: 'owner', scopes: [] } } as unknown as LinkCaller;
const never = new AbortController().signal;

it('other exports read while a page of a list waits for the limits of lists', { timeout: 10_000 }, async () => {
  const now = () => Date.now();
  const runners = createReadRunners({ clickhouse: {} as never, planCache: createPlannerCache(now, () => true) });
  let answer = (_rows: readonly object[]) => {};
  let isAsked = () => {};
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve;
  });
  const catalog = {
    hiddenFolders: { anyFor: async () => false },
    ...{ customers: {}, folders: {}, tags: {}, partners: {}, groups: {}, partnerTags: {} },
    links: {
      list() {
        isAsked();
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
      objects: async (_workspaceId: string, records: readonly object[]) => records,
    },
  } as unknown as Catalog;
  const openJob = createJobSources({ catalog, defaultDomain: undefined, now, ...runners });
  const job = { resource: 'links', format: 'csv', columns: null, escapeFormulas: true, filters: {} } as const;
  const opened = await openJob(caller, job, now());
  if (opened.type !== 'list') throw new Error('links are a list');
  const slices = (await opened.sourceFrom(undefined, never))[Symbol.asyncIterator]();
  const slice = slices.next();
  await asked;
  const other = { endpoint: 'POST /exports', workspaceId: 'ws_2', requestId: 'job', signal: never };
  expect(await runners.runJobSlice(other, async () => 'read')).toBe('read');
  answer([{ id: '1' }]);
  expect(await slice).toMatchObject({ value: { lastId: '1' } });
});
