import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkWritable, connectRedis, keyPrefix, redisSocketUrl } from '../src/index.js';

describe('a Redis on a unix socket', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waymark-socket-'));
  // Characters with a meaning in a URL.
  const socket = join(directory, '50% of #1?.sock');
  const password = 'p@ss/w%rd';
  let server: TestRedis;
  let admin: Redis;
  const open: Redis[] = [];
  function connect(url: string): Redis {
    const redis = connectRedis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    open.push(redis);
    return redis;
  }

  beforeAll(async () => {
    server = await startRedis({ args: ['--unixsocket', socket] });
    admin = new Redis(server.url).on('error', () => undefined);
    await admin.config('SET', 'requirepass', password);
  });
  afterAll(async () => {
    for (const redis of [admin, ...open]) redis.disconnect();
    await server.stop();
    rmSync(directory, { recursive: true });
  });

  it('is reached by its path, with a password and a database', async () => {
    const redis = connect(`${redisSocketUrl(socket, password)}?db=3`);
    await checkWritable(redis);
    await redis.set('where', 'here');
    expect(keyPrefix(redis)).toBe('');
    const list = String(await admin.client('LIST'));
    expect(list.split('\n').find((line) => line.includes(`addr=${socket}`))).toContain(' db=3 ');
    expect(await connect(redisSocketUrl(socket, password)).get('where')).toBeNull();
    const duplicate = redis.duplicate().on('error', () => undefined);
    open.push(duplicate);
    expect(await duplicate.get('where')).toBe('here');
  });

  it('is not reached without the password', async () => {
    await expect(checkWritable(connect(redisSocketUrl(socket, 'wrong')))).rejects.toThrow('WRONGPASS');
  });

  it('is reached again after a kill, once the next server has replaced the socket', async () => {
    const redis = connect(redisSocketUrl(socket, password));
    await redis.ping();
    await server.kill9();
    await waitFor(() => redis.status !== 'ready', { what: 'the loss of the connection' });
    expect(existsSync(socket)).toBe(true);
    await server.restart();
    await admin.config('SET', 'requirepass', password);
    await waitFor(() => checkWritable(redis).then(() => true), { what: 'a server that takes writes' });
  });
});
