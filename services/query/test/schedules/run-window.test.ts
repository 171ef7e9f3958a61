import type { ExportManifest } from '@waymark/contract';
import { JobStopped } from '@waymark/jobs';
import { createGuardedAgents } from '@waymark/outbound';
import { BUCKET, type S3Server, startS3Server } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { runWindow } from '../../src/schedules/run-window.js';
import { openS3Storage } from '../../src/schedules/s3-storage.js';
import { NOW, startQuery, type TestQuery } from '../test-query.js';
import { aDestination, aSchedule, CREDENTIALS, START } from './a-schedule.js';

const never = new AbortController().signal;

let query: TestQuery;
let storage: S3Server;
const agents = createGuardedAgents({ allowedRanges: ['127.0.0.0/8'] });

beforeAll(async () => {
  [query, storage] = await Promise.all([startQuery(() => NOW), startS3Server()]);
});
afterAll(async () => {
  agents.close();
  await Promise.all([query.close(), storage.stop()]);
});

const destination = () => aDestination(storage.url, BUCKET);

test('the requests of a file share its fifteen minutes, so that a slow storage does not hold its place for hours', async () => {
  const limits: number[] = [];
  const clock = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms);
    return never;
  });
  onTestFinished(() => clock.mockRestore());
  async function* bytes() {
    for (let part = 0; part < 2; part++) yield Buffer.alloc(5 * 1024 ** 2);
  }
  const opened = openS3Storage(agents, destination(), CREDENTIALS);
  await opened.upload('shared.bin', { bytes: bytes(), mediaType: 'application/octet-stream' }, never);
  const [first, ...others] = limits.filter((ms) => ms > 60_000).slice(0, 4);
  expect(first).toBe(15 * 60_000);
  expect(others).toHaveLength(3);
  for (const limit of others) expect(limit).toBeLessThan(15 * 60_000);
});

test('a file may take as long to read as it does: only the requests to the storage have a time limit', async () => {
  const limits: AbortController[] = [];
  const clock = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  });
  onTestFinished(() => clock.mockRestore());
  /** Two events, with a pause in between that is longer than every limit that has begun. */
  async function* source() {
    const event = (id: string) => JSON.stringify({ click: { id } });
    yield { items: [event('one')] };
    for (const limit of limits) limit.abort(new DOMException('', 'TimeoutError'));
    yield { items: [event('two')] };
  }
  const { schedule, stored } = await aSchedule(query, { destination: destination() });
  await runWindow(
    {
      catalog: query.catalog,
      now: () => NOW,
      openWindow: async () => ({ kind: 'clicks', columns: [], sourceFrom: source }) as never,
      openStorage: async (destination, credentials) => openS3Storage(agents, destination, credentials),
    },
    schedule,
    never,
  );
  expect((await stored()).lastWindow).toMatchObject({ rows: 2, files: 1 });
});

const idOf = (index: number) => `event ${index}`;

/** Opens a window with as many events. @param onRead called with the id after which each reading begins */
function windowOf(total: number, onRead: (after: string | null) => void = () => undefined) {
  async function* sourceFrom(after: string | null) {
    onRead(after);
    const first = after === null ? 0 : Number(after.split(' ')[1]) + 1;
    for (let index = first; index < total; index += 1) {
      yield { items: [JSON.stringify({ click: { id: idOf(index) } })] };
    }
  }
  return async () => ({ kind: 'clicks', columns: [], sourceFrom }) as never;
}

test('an attempt that takes minutes ends after a file, and the next one exports the rest of the window', async () => {
  const total = 2500;
  const attempts: (string | null)[] = [];
  let nowMs = NOW;
  const deps: Parameters<typeof runWindow>[0] = {
    catalog: query.catalog,
    now: () => nowMs,
    openWindow: windowOf(total, (after) => attempts.push(after)),
    async openStorage() {
      return {
        put: async () => undefined,
        async upload(_key, { bytes }) {
          for await (const _part of bytes);
          nowMs += 3 * 60_000;
        },
      };
    },
  };
  const { stored: current } = await aSchedule(query);
  await runWindow(deps, await current(), never);
  expect(await current()).toMatchObject({ exportedUntil: START, run: { files: [{ rows: 1000 }], manifest: null } });
  for (let repeats = 0; repeats < 3; repeats += 1) await runWindow(deps, await current(), never);
  expect(await current()).toMatchObject({ run: null, lastWindow: { rows: total, files: 3, window: { start: START } } });
  expect(attempts).toEqual([null, idOf(999), idOf(1999), idOf(2499)]);
});

test('a schedule that is disabled while a file is uploaded uploads no further file, and no manifest', async () => {
  const { schedule, stored: current } = await aSchedule(query);
  const objects: (string | undefined)[] = [];
  const deps: Parameters<typeof runWindow>[0] = {
    catalog: query.catalog,
    now: () => NOW,
    openWindow: windowOf(2500),
    async openStorage() {
      return {
        put: async (key) => void objects.push(key.split('/').at(-1)),
        async upload(key, { bytes }) {
          for await (const _part of bytes);
          objects.push(key.split('/').at(-1));
          const disabledAt = new Date(NOW).toISOString();
          await query.catalog.exportSchedules.update(schedule.workspaceId, schedule.id, () => ({ disabledAt }));
        },
      };
    },
  };
  await expect(runWindow(deps, await current(), never)).rejects.toThrow(JobStopped);
  expect(objects).toEqual(['clicks-00001.ndjson']);
});

test('files beyond the hundredth of a window have a hundredth of the rows before them, also when one is written again', async () => {
  const before = Array.from({ length: 150 }, (_, index) => ({
    ...{ name: `clicks-${index + 1}.ndjson`, rows: 1000, bytes: 30_000, sha256: '' },
  }));
  const end = new Date(Date.parse(START) + 86_400_000).toISOString();
  const run = { end, files: before, lastId: idOf(149_999), manifest: null };
  const { stored } = await aSchedule(query, { run });
  const uploads: [name: string | undefined, rows: number][] = [];
  const manifests: ExportManifest[] = [];
  const deps: Parameters<typeof runWindow>[0] = {
    catalog: query.catalog,
    now: () => NOW,
    openWindow: windowOf(150_000 + 1500 + 1515 + 7),
    async openStorage() {
      return {
        put: async (_key, { text }) => void manifests.push(JSON.parse(text)),
        async upload(key, { bytes }) {
          let rows = 0;
          for await (const part of bytes) rows += Buffer.from(part).toString().split('\n').length - 1;
          uploads.push([key.split('/').at(-1), rows]);
          if (uploads.length === 1) throw new Error('the process was killed before the file was recorded');
        },
      };
    },
  };
  await expect(runWindow(deps, await stored(), never)).rejects.toThrow('killed');
  await runWindow(deps, await stored(), never);
  expect(uploads).toEqual([
    ['clicks-00151.ndjson', 1500],
    ['clicks-00151.ndjson', 1500],
    ['clicks-00152.ndjson', 1515],
    ['clicks-00153.ndjson', 7],
  ]);
  expect(manifests).toMatchObject([{ rows: 153_022, files: { length: 153 } }]);
  expect((await stored()).lastWindow).toMatchObject({ rows: 153_022, files: 153 });
});
