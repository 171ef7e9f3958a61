import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog, ExportJobRecord } from '@waymark/catalog';
import { JobStopped } from '@waymark/jobs';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, expect, it } from 'vitest';
import { createJobFiles } from '../../src/jobs/job-files.js';
import type { OpenJob } from '../../src/jobs/job-source.js';
import { runJob } from '../../src/jobs/run-job.js';

const directory = temporaryDirectory('waymark-job-progress-');
afterAll(() => rm(directory, { recursive: true, force: true }));

const NOW = Date.parse('2026-11-21T12:00:00Z');
const SLICE_ROWS = 500;

type Format = ExportJobRecord['format'];

/** An attempt of a job whose list ends with an error. @param current the attempt in the record of the job, after the list was opened */
function begin(name: string, format: Format, attempt: number, slicesBeforeError: number, current = attempt) {
  const job = {
    ...{ id: name, workspaceId: 'ws_1', keyId: 'key_1', resource: 'links', format, escapeFormulas: true, attempt },
    ...{ status: 'processing', createdAt: new Date(NOW).toISOString(), columns: null, filters: {} },
  } as unknown as ExportJobRecord;
  const apiKey = { id: 'key_1', workspaceId: 'ws_1', role: 'owner', scopes: [], expiresAt: null };
  const catalog = {
    exportJobs: { get: async () => ({ ...job, attempt: current }) },
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
  return { run, reports: () => reports };
}

/** How often such an attempt reports progress. */
async function attemptOf(...attempt: Parameters<typeof begin>): Promise<number> {
  const { run, reports } = begin(...attempt);
  await expect(run).rejects.toThrow('a page could not be read');
  return reports();
}

it('an attempt has got on when the next one would continue after its checkpoint', async () => {
  expect(await attemptOf('a job', 'csv', 1, 4)).toBe(2);
  expect(await attemptOf('a job', 'csv', 2, 1)).toBe(0);
  expect(await attemptOf('from the start', 'parquet', 1, 4)).toBe(0);
});

it('an attempt whose successor began while it opened its list stops before it touches any file', async () => {
  await attemptOf('late', 'csv', 1, 4);
  await expect(begin('late', 'csv', 2, 4, 3).run).rejects.toThrow(JobStopped);
  expect(await readdir(join(directory, 'late'))).toEqual(['1']);
});
