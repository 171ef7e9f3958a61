import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownSpoolPrefix } from '@waymark/event-queue';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import { expect, onTestFinished, test } from 'vitest';
import { startQueueSampler } from '../src/metrics/queue-sampler.js';

test('the files of this process are counted in every queue shard, and beside them those of others, which may have ended', async () => {
  const spoolDirectory = temporaryDirectory('spool-sample-');
  onTestFinished(() => rmSync(spoolDirectory, { recursive: true }));
  mkdirSync(join(spoolDirectory, 'shard-1'));
  const own = await ownSpoolPrefix();
  const files = {
    [`${own}abc~000001.spool`]: 10,
    [`shard-1/${own}def~000001.spool`]: 200,
    [`${own}abc~000002.spool.damaged`]: 3000,
    'another-host~7~1~abc~000001.spool': 40_000,
    'shard-1/another-host~7~1~abc~000001.spool': 500_000,
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(spoolDirectory, name), 'x'.repeat(bytes));
  const sampler = startQueueSampler({
    ...{ queueShards: [], spoolDirectory, now: Date.now },
    logger: { debug: () => undefined, warn: () => undefined },
  });
  onTestFinished(() => sampler.close());
  const sample = await waitFor(async () => sampler.spool(), { what: 'the first sample' });
  expect(sample).toEqual({ own: { files: 2, bytes: 210 }, all: { files: 4, bytes: 540_210 } });
});
