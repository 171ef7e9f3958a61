import { randomUUID } from 'node:crypto';
import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { batchOfJobKey, insertBatchKey } from '../../src/queue/keys.js';
import { soleManifest } from '../alone.js';

it('a batch is known as long as ClickHouse keeps its deduplication token: a week', async () => {
  const server = await startRedis();
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  const batch = { id: randomUUID(), kind: 'click', version: 1, jobIds: ['job'], skipped: {}, at: Date.now() } as const;
  await soleManifest(redis).begin(batch);
  for (const key of [insertBatchKey(batch.id), batchOfJobKey('job')]) {
    expect(await redis.pttl(key)).toBeGreaterThan(6.9 * 24 * 3_600_000);
  }
});
