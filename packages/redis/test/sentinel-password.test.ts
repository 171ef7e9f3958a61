import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, launchRedis, startRedis, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { checkWritable, connectRedis } from '../src/index.js';

it('Sentinels that require a password are reached with it', async () => {
  const [server, port, directory] = [await startRedis(), await freePort(), temporaryDirectory('waymark-sentinel-')];
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, `dir ${directory}\nsentinel monitor waymark 127.0.0.1 ${server.port} 1\n`);
  const sentinel = await launchRedis(port, [file, '--sentinel', '--port', String(port)]);
  const admin = new Redis(port);
  const url = `redis+sentinel://127.0.0.1:${port}/waymark?sentinelPassword=secret`;
  await admin.call('ACL', 'SETUSER', 'default', 'resetpass', '>secret');
  const redis = connectRedis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  onTestFinished(async () => {
    for (const one of [admin, redis]) one.disconnect();
    sentinel.kill('SIGKILL');
    await server.stop();
    rmSync(directory, { recursive: true });
  });
  await waitFor(() => checkWritable(redis).then(() => true), { what: 'the master that the Sentinel names' });
  expect(redis.stream).toMatchObject({ remotePort: server.port });
});
