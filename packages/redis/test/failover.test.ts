import {
  type RedisDeployment,
  startRedis,
  startRedisCluster,
  startRedisSentinels,
  type TestRedis,
  waitFor,
} from '@waymark/test-kit';
import type { Redis } from 'ioredis';
import { afterAll, describe, expect, it } from 'vitest';
import { checkWritable, connectRedis, createReplication, keyPrefix, NotReplicatedError } from '../src/index.js';

// The tests mostly wait, each for servers of its own, so they run at the same time.

const started: { stop(): Promise<void> }[] = [];
const open: Redis[] = [];
afterAll(async () => {
  for (const redis of open) redis.disconnect();
  await Promise.all(started.map((server) => server.stop()));
});

async function keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  started.push(server);
  return server;
}

function connect(url: string): Redis {
  const redis = connectRedis(url, { maxRetriesPerRequest: 0, retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  open.push(redis);
  return redis;
}

/** Waits until the connection takes writes, and returns the port of the server that took them. */
async function untilWritable(redis: Redis): Promise<number> {
  await waitFor(() => checkWritable(redis).then(() => true), { what: 'a server that takes writes' });
  const [, port] = (await redis.config('GET', 'port')) as [string, string];
  return Number(port);
}

const DEPLOYMENTS: [string, () => Promise<RedisDeployment>][] = [
  ['Sentinels', startRedisSentinels],
  ['a cluster', startRedisCluster],
];

describe.concurrent.each(DEPLOYMENTS)('a connection through %s', (_name, start) => {
  it('goes to the server that takes writes, and follows it when it changes or is killed', async () => {
    const deployment = await keep(start());
    const redis = connect(deployment.url);
    const copy = redis.duplicate();
    copy.on('error', () => undefined);
    open.push(copy);
    const first = await deployment.masterPort();
    expect(await untilWritable(redis)).toBe(first);

    await deployment.failOver();
    const second = await deployment.masterPort();
    expect(second).not.toBe(first);
    expect(await untilWritable(redis)).toBe(second);
    expect(await untilWritable(copy)).toBe(second);

    await deployment.killMaster();
    expect(await deployment.masterPort()).toBe(first);
    expect(await untilWritable(redis)).toBe(first);
  }, 120_000);
});

it.concurrent('all keys of a cluster are in one slot, and elsewhere keep their names', async () => {
  const [cluster, single] = await Promise.all([keep(startRedisCluster()), keep(startRedis({ args: [] }))]);
  const redis = connect(cluster.url);
  await untilWritable(redis);
  const keys = ['a', 'b', 'c:{d}'].map((name) => `${keyPrefix(redis)}${name}`);
  await redis.mset(Object.fromEntries(keys.map((key) => [key, '1'])));
  expect(await redis.mget(keys)).toEqual(['1', '1', '1']);
  expect(keyPrefix(redis.duplicate({ lazyConnect: true }))).toBe(keyPrefix(redis));
  expect(keyPrefix(connect(single.url))).toBe('');
});

describe.concurrent('confirmation by replicas', () => {
  async function masterAndReplica(): Promise<[TestRedis, TestRedis]> {
    const master = await keep(startRedis({ args: ['--repl-diskless-sync-delay', '0'] }));
    const replica = await keep(startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] }));
    const probe = connect(replica.url);
    await waitFor(async () => (await probe.info('replication')).includes('master_link_status:up'), {
      what: 'the replica',
    });
    return [master, replica];
  }

  it('is given for what a replica has, and refused for what none has', async () => {
    const [master, replica] = await masterAndReplica();
    const redis = connect(master.url);
    await untilWritable(redis);
    const { confirmed } = createReplication(redis, 1);
    // Half a second may be too short on a busy machine.
    await waitFor(() => confirmed(() => redis.set('key', '1')), { what: 'the confirmation' });
    expect(await connect(replica.url).get('key')).toBe('1');

    process.kill(replica.pid, 'SIGSTOP');
    try {
      await expect(confirmed(() => redis.set('key', '2'))).rejects.toThrow(NotReplicatedError);
      // What was written before is not confirmed either by work that writes nothing.
      await expect(confirmed(() => redis.get('key'))).rejects.toThrow(NotReplicatedError);
      const other = connect(master.url);
      await untilWritable(other);
      await expect(createReplication(other, 1).confirmed(() => other.get('key'))).rejects.toThrow(NotReplicatedError);
    } finally {
      process.kill(replica.pid, 'SIGCONT');
    }
    await waitFor(() => confirmed(() => redis.set('key', '3')), { what: 'the replica to confirm again' });
  });

  it('is refused if fewer replicas than required have a write', async () => {
    const [master] = await masterAndReplica();
    const redis = connect(master.url);
    await untilWritable(redis);
    const one = createReplication(redis, 1);
    await waitFor(() => one.confirmed(() => redis.set('key', '1')), { what: 'the confirmation of the one replica' });
    await expect(createReplication(redis, 2).confirmed(() => redis.set('key', '2'))).rejects.toThrow('of 2 replicas');
  });

  it('is refused when the connection was lost since the write, because the next server may lack it', async () => {
    const [master] = await masterAndReplica();
    const redis = connectRedis(master.url, { retryStrategy: () => 20 });
    redis.on('error', () => undefined);
    open.push(redis);
    await untilWritable(redis);
    const admin = connect(master.url);
    const { confirmed } = createReplication(redis, 1);
    const id = await redis.client('ID');
    const work = async () => {
      await redis.set('key', '1');
      await admin.client('KILL', 'ID', id);
      await waitFor(async () => (await redis.client('ID')) !== id, { what: 'another connection' });
    };
    await expect(confirmed(work)).rejects.toThrow('was lost');
  });

  it('is awaited only if replicas are required', async () => {
    const server = await keep(startRedis({ args: [] }));
    const redis = connect(server.url);
    await untilWritable(redis);
    expect(await createReplication(redis, 0).confirmed(() => redis.set('key', '1'))).toBe('OK');
    await expect(createReplication(redis, 1).confirmed(() => redis.set('key', '1'))).rejects.toThrow('0 of 1');
  });
});

it.concurrent('a server that only replicates, or lacks the replicas that it requires, takes no writes', async () => {
  const master = await keep(startRedis({ args: ['--min-replicas-to-write', '1'] }));
  const replica = await keep(startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] }));
  process.kill(replica.pid, 'SIGSTOP');
  const redis = connect(master.url);
  await waitFor(async () => (await redis.ping()) === 'PONG', { what: 'the master' });
  process.kill(replica.pid, 'SIGCONT');
  await waitFor(() => checkWritable(redis).then(() => true), { what: 'the master to take writes' });
  const reader = connect(replica.url);
  await waitFor(async () => (await reader.ping()) === 'PONG', { what: 'the replica' });
  await expect(checkWritable(reader)).rejects.toThrow('READONLY');
  await replica.kill9();
  await waitFor(
    () =>
      checkWritable(redis).then(
        () => false,
        (err: Error) => err.message.startsWith('NOREPLICAS'),
      ),
    {
      what: 'writes to be refused',
    },
  );
  expect(await redis.ping()).toBe('PONG');
});
