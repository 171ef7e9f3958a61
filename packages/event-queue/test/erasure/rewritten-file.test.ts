import { startRedis } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { rewriteAppendOnlyFile } from '../../src/erasure/erase-queued.js';

const WITHIN_MS = 30_000;

it('an append-only file is rewritten, but not if its server was killed and started again meanwhile', async () => {
  const server = await startRedis({ args: [] });
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  const killed = new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...parameters: unknown[]) => unknown;
      return name === 'bgrewriteaof' ? () => server.kill9().then(server.restart) : bound;
    },
  });
  try {
    expect(await rewriteAppendOnlyFile(redis, WITHIN_MS)).toBe(true);
    expect(await rewriteAppendOnlyFile(killed, WITHIN_MS)).toBe(false);
  } finally {
    redis.disconnect();
    await server.stop();
  }
});
