import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { beginAttempt, bytesByJob } from '../src/attempt-files.js';

const JOBS = 300;

it('the bytes of all other jobs count while the directory of one is removed', async () => {
  const root = temporaryDirectory('waymark-jobs-');
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (let job = 0; job < JOBS; job += 1) {
    const attempt = join(root, `job_${job}`, 'attempt');
    mkdirSync(attempt, { recursive: true });
    writeFileSync(join(attempt, 'rows'), 'four');
  }
  const removed = readdirSync(root).at(-1) ?? '';
  const counting = bytesByJob(root);
  // Read after the list of jobs of the call above, which then reads the job that is removed.
  await readdir(root);
  rmSync(join(root, removed), { recursive: true });
  const bytes = await counting;
  bytes.delete(removed);
  expect([bytes.size, new Set(bytes.values())]).toEqual([JOBS - 1, new Set([4])]);
});

it('a missing directory has no jobs', async () => {
  expect(await bytesByJob('/nonexistent')).toEqual(new Map());
});

it('a job continues from its latest attempt if the earlier ones were not removed, as after a kill', async () => {
  const job = temporaryDirectory('waymark-jobs-');
  onTestFinished(() => rmSync(job, { recursive: true }));
  for (const attempt of ['2', '9', '10']) mkdirSync(join(job, attempt));
  expect(await beginAttempt(job, 11, async (before) => before)).toBe(join(job, '10'));
  expect(readdirSync(job)).toEqual(['11']);
});

it('an attempt that begins late, after its process has lost its lease, leaves the files of its successor', async () => {
  const job = temporaryDirectory('waymark-jobs-');
  onTestFinished(() => rmSync(job, { recursive: true }));
  for (const attempt of ['1', '2', '4']) mkdirSync(join(job, attempt));
  expect(await beginAttempt(job, 3, async (before) => before)).toBe(join(job, '2'));
  expect(readdirSync(job).sort()).toEqual(['3', '4']);
});
