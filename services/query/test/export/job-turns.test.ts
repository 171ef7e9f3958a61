import { EventEmitter } from 'node:events';
import type { Catalog, KeyCaller } from '@waymark/catalog';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createJobSources } from '../../src/jobs/job-source.js';
import { createPlannerCache } from '../../src/planner-cache.js';
import { createReadRunners, type ReadRunners } from '../../src/workspace-concurrency.js';

const caller = { workspace: { id: 'ws_1' }, apiKey: { role: 'owner', scopes: [] } } as unknown as KeyCaller;
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

/** Takes all reads of a process, and asks for a page meanwhile. @returns what has become of it after a minute, and when the reads have ended */
async function pageWhileAllAreTaken(readPage: (runners: ReadRunners) => Promise<string>): Promise<string[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const planCache = createPlannerCache(Date.now, () => true);
  const runners = createReadRunners({ clickhouse: {} as never, planCache });
  let endReads = () => {};
  const end = new Promise<void>((resolve) => {
    endReads = resolve;
  });
  const owners = ['ws_1', 'ws_1', 'ws_1', 'ws_1', 'ws_2', 'ws_3'];
  const reads = owners.map((owner) => runners.runSharedRead(owner, () => end));
  let outcome = 'waits';
  const page = readPage(runners).then(
    (value) => {
      outcome = value;
    },
    (err: { status?: number }) => {
      outcome = `refused: ${err.status}`;
    },
  );
  await vi.advanceTimersByTimeAsync(60_000);
  const afterMinute = outcome;
  endReads();
  await Promise.all([...reads, page]);
  return [afterMinute, outcome];
}

it('a page of a job waits for as long as it takes while all reads of the process are taken', async () => {
  const reader = { endpoint: 'POST /exports', workspaceId: 'ws_4', requestId: 'job', signal: never };
  const outcomes = await pageWhileAllAreTaken((runners) => runners.runJobSlice(reader, async () => 'read'));
  expect(outcomes).toEqual(['waits', 'read']);
});

it.each([
  ['the first page is refused, as the request', false, ['refused: 429', 'refused: 429']],
  ['a further page waits, because the file would be cut off', true, ['waits', 'read']],
])('of a download %s', async (_what, headersSent, expected) => {
  const socket = Object.assign(new EventEmitter(), { destroyed: false });
  const request = {
    ...{ workspace: { id: 'ws_4' }, id: 'r', method: 'GET', routeOptions: { url: '/events/export' } },
    raw: { socket },
  };
  const reply = { raw: Object.assign(new EventEmitter(), { headersSent, closed: false }), request };
  const outcomes = await pageWhileAllAreTaken((runners) =>
    runners.runSlice(request as never, reply as never, async () => 'read'),
  );
  expect(outcomes).toEqual(expected);
});
