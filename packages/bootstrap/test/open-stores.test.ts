import { loadSettings } from '@waymark/config';
import { createLogger } from '@waymark/http-kit';
import { createTestDatabase, startRedis, storeSettings, waitFor } from '@waymark/test-kit';
import { expect, it } from 'vitest';
import { openStores, startServiceBase } from '../src/index.js';

function settingsOf(redis: { readonly url: string }, database: { readonly url: string; readonly database: string }) {
  return {
    redisUrl: redis.url,
    otherQueueShards: [],
    clickhouseUrl: database.url,
    clickhouseDatabase: database.database,
    clickhouseUser: undefined,
    clickhousePassword: undefined,
    redisWaitReplicas: 0,
    clickhouseCluster: undefined,
    baseUrl: 'https://api.example.com',
  };
}

// The tests mostly wait, each for stores of its own, so they run at the same time.

it.concurrent('a command that fails while Redis hangs is executed at most once', async () => {
  // A Redis of its own, because the test stops the process.
  const [redis, database] = await Promise.all([startRedis({ args: [] }), createTestDatabase()]);
  const logger = { warn: () => undefined };
  const stores = openStores(settingsOf(redis, database), { current: Buffer.alloc(32, 1), others: [] }, logger);
  try {
    await waitFor(async () => (await stores.redis.ping()) === 'PONG', { what: 'the connection' });
    const closed = new Promise<void>((resolve) => stores.redis.once('close', resolve));
    process.kill(redis.pid, 'SIGSTOP');
    await expect(stores.redis.incr('n')).rejects.toThrow();
    await closed;
    process.kill(redis.pid, 'SIGCONT');
    await waitFor(async () => (await stores.redis.ping()) === 'PONG', { what: 'a new connection' });
    expect(Number(await stores.redis.get('n'))).toBeLessThanOrEqual(1);
  } finally {
    process.kill(redis.pid, 'SIGCONT');
    await stores.close();
    await Promise.all([redis.stop(), database.drop()]);
  }
});

it.concurrent('changes of records are refused while replicas of Redis do not confirm', async () => {
  const [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const logger = { warn: () => undefined };
  const settings = { ...settingsOf(redis, database), redisWaitReplicas: 1 };
  const stores = openStores(settings, { current: Buffer.alloc(32, 1), others: [] }, logger);
  try {
    await waitFor(async () => (await stores.redis.ping()) === 'PONG', { what: 'the connection' });
    const made = stores.catalog.workspaces.create({ name: 'A', slug: 'a', plan: 'free', domain: 'go.a.example' });
    await expect(made).rejects.toMatchObject({ code: 'internal_server_error' });
  } finally {
    await stores.close();
    await Promise.all([redis.stop(), database.drop()]);
  }
});

it.concurrent('claims are not removed while replicas of Redis do not confirm', async () => {
  const [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const settingsWith = (replicas: number) =>
    loadSettings({ ...storeSettings(redis, database), REDIS_WAIT_REPLICAS: String(replicas) });
  const startBase = (replicas: number) =>
    startServiceBase({ service: 'management', settings: settingsWith(replicas), logger });
  const bases = [await startBase(0), await startBase(1)] as const;
  const [before, base] = bases;
  try {
    await waitFor(() => before.checkRedis().then(() => true), { what: 'the connection' });
    const draft = { name: 'A', slug: 'a', plan: 'free', domain: 'go.a.example' } as const;
    const { workspace } = await before.catalog.workspaces.create(draft);
    const claims = await waitFor(() => base.claimsOf(workspace.id), { what: 'the workspace' });
    await expect(claims.remove(['customer:7:ann'])).rejects.toMatchObject({ code: 'internal_server_error' });
    await (await before.claimsOf(workspace.id)).remove(['customer:7:ann']);
  } finally {
    await Promise.all(bases.map((one) => one.close()));
    await Promise.all([redis.stop(), database.drop()]);
  }
});
