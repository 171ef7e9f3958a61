import { rm } from 'node:fs/promises';
import type { Catalog, ExportJobRecord } from '@waymark/catalog';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, expect, it } from 'vitest';
import { createJobFiles } from '../../src/jobs/job-files.js';
import type { OpenJob } from '../../src/jobs/job-source.js';
import { runJob } from '../../src/jobs/run-job.js';

const directory = temporaryDirectory('waymark-job-progress-');
afterAll(() => rm(directory, { recursive: true, force: true }));

const NOW = Date.parse('2026-11-21T12:00:00Z');
const SLICE_ROWS = 500;

/** An attempt of a job whose list ends with an error. @returns how often it has reported progress */
async function attemptOf(name: string, format: ExportJobRecord['format'], attempt: number, slicesBeforeError: number) {
  const job = {
    ...{ id: name, workspaceId: 'ws_1', keyId: 'key_1', resource: 'links', format, escapeFormulas: true, attempt },
    ...{ status: 'processing', createdAt: new Date(NOW).toISOString(), columns: null, filters: {} },
  } as unknown as ExportJobRecord;
  const apiKey = { id: 'key_1', workspaceId: 'ws_1', role: 'owner', scopes: [], expiresAt: null };
  const catalog = {
    exportJobs: { get: async () => job },
    keys: { get: async () => apiKey },
    workspaces: { get: async () => ({ id: 'ws_1', plan: 'enterprise' }) },
  } as unknown as Catalog;
  const openJob = (async () => ({
    type: 'list',
    what: 'links',
    columns: [{ name: 'id', type: 'text', read: (item: { id: string }) => item.id }],
    async sourceFrom() {
      return (async function* () {
        for (let slice = 1; slice <= slicesBeforeError; slice++) {
          yield { items: Array.from({ length: SLICE_ROWS }, () => '{"id":"a"}'), lastId: `row ${slice}` };
        }
        throw new Error('a page could not be read');
      })();
    },
  })) as unknown as OpenJob;
  let reports = 0;
  const deps = { catalog, files: createJobFiles(directory), openJob, makeRoom: async () => undefined, now: () => NOW };
  const run = runJob(deps, job, new AbortController().signal, () => {
    reports += 1;
  });
  await expect(run).rejects.toThrow('a page could not be read');
  return reports;
}

it('an attempt has got on when the next one would continue after its checkpoint', async () => {
  expect(await attemptOf('a job', 'csv', 1, 4)).toBe(2);
  expect(await attemptOf('a job', 'csv', 2, 1)).toBe(0);
  expect(await attemptOf('from the start', 'parquet', 1, 4)).toBe(0);
});
