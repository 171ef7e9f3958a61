import { createTails } from '@waymark/event-queue';
import { createReplication } from '@waymark/redis';
import { startRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { STREAM_TIMES } from '../../src/stream/stream-times.js';
import { createTailFeeds } from '../../src/stream/tail-feeds.js';

test('a stream that could not be opened does not count as open', async () => {
  const server = await startRedis();
  const [redis, admin] = [new Redis(server.url), new Redis(server.url)];
  // No replica confirms that it is open.
  const feeds = createTailFeeds(createTails(redis, createReplication(redis, 1)), STREAM_TIMES);
  try {
    const opening = feeds.open({ workspace: '7', keyId: 'key_1', onEnd: () => undefined });
    await expect(opening).rejects.toMatchObject({ code: 'internal_server_error', retryAfterSeconds: 1 });
    await waitFor(async () => (await admin.zcard('{waymark}:streams:7')) === 0, { what: 'the end of its lease' });
    expect(await admin.exists('{waymark}:tail:7')).toBe(1);
  } finally {
    feeds.close();
    for (const one of [redis, admin]) one.disconnect();
    await server.stop();
  }
});
