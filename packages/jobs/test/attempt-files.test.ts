import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { bytesByJob } from '../src/attempt-files.js';

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
