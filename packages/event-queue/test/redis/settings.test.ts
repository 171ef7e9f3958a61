import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkRedisSettings, warnOfRedisSettings } from '../../src/index.js';

const RIGHT = { 'maxmemory-policy': 'noeviction', appendonly: 'yes', appendfsync: 'always', maxmemory: '100mb' };
const connections: Redis[] = [];
let server: TestRedis;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis({ args: ['--maxmemory', RIGHT.maxmemory] });
  admin = new Redis(server.url);
});
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.disconnect();
  for (const [name, value] of Object.entries(RIGHT)) await admin.config('SET', name, value);
});
afterAll(async () => {
  admin.disconnect();
  // Killed, because a server that rewrites its append-only file ends only after that.
  await server.kill9();
  await server.stop();
});

function connect(options: { readonly username?: string; readonly password?: string } = {}): Redis {
  const redis = new Redis({ port: server.port, ...options });
  redis.on('error', () => {});
  connections.push(redis);
  return redis;
}

describe('checkRedisSettings', () => {
  it('returns nothing for a Redis with the right settings', async () => {
    expect(await checkRedisSettings(connect())).toEqual([]);
  });

  it.each([
    ['maxmemory-policy', 'allkeys-lru', 'is allkeys-lru, not noeviction'],
    ['appendonly', 'no', 'is no, not yes'],
    ['appendfsync', 'everysec', 'is everysec, not always'],
    ['maxmemory', '0', 'is 0, not a limit'],
  ])('names %s and its risk when it is %s', async (setting, value, message) => {
    await admin.config('SET', setting, value);
    expect(await checkRedisSettings(connect())).toEqual([
      expect.stringContaining(`REDIS_URL: ${setting} ${message}: `),
    ]);
  });

  it('uses INFO where CONFIG is refused, and names the settings that cannot be read', async () => {
    await admin.acl('SETUSER', 'managed', 'on', '>secret', '~*', '+@all', '-config');
    const managed = { username: 'managed', password: 'secret' };
    expect(await checkRedisSettings(connect(managed))).toEqual([expect.stringContaining('appendfsync cannot be read')]);
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await admin.config('SET', 'appendonly', 'no');
    await admin.config('SET', 'maxmemory', '0');
    expect(await checkRedisSettings(connect(managed))).toHaveLength(4);
  });
});

describe('warnOfRedisSettings', () => {
  it('warns of each wrong setting once, and checks again after a reconnect', async () => {
    const lines: string[] = [];
    await admin.config('SET', 'appendonly', 'no');
    const redis = connect();
    warnOfRedisSettings(redis, { warn: (_context, message) => void lines.push(message) });
    await waitFor(() => lines.length === 1, { what: 'the first warning' });

    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    redis.disconnect(true);
    await waitFor(() => lines.length === 2, { what: 'the second warning' });
    expect(lines).toEqual([expect.stringContaining('appendonly'), expect.stringContaining('maxmemory-policy')]);
  });
});
