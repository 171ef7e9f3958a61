import { rmSync } from 'node:fs';
import { aSale, type RedisDeployment, startRedisSentinels, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createEventProducer, type EventProducer, invoiceClaim } from '../../src/index.js';
import { splitRows } from '../../src/queue/job-rows.js';
import { claimKey, jobKey, queueKey, rowsKey } from '../../src/queue/keys.js';
import { type QueueFixture, startQueueFixture } from '../queue-fixture.js';
import { silentLogger } from '../silent-logger.js';

// A caller that gets no answer sends its request again. Both have the same invoice, and the same answer: the final value of their claim is
// equal, so it does not show whose event is recorded.

const INVOICE = invoiceClaim('ws_1', 'in_1');

function commitOf(producer: EventProducer, owner: string): Promise<void> {
  const finals = [{ name: INVOICE, owner, value: 'the answer of both', ttlMs: 60_000 }];
  return producer.commit({ rows: [{ kind: 'sale', row: aSale() }], finals });
}

/** Takes the claim, as soon as it is free, and records the sale. */
async function recordAs(producer: EventProducer, owner: string): Promise<void> {
  const isMine = async () => (await producer.claims.take([INVOICE], owner))[0]?.state === 'mine';
  await waitFor(() => isMine().catch(() => false), { what: `the claim of ${owner}` });
  await commitOf(producer, owner);
}

/** Waits until Redis holds back a command of a client, because of CLIENT PAUSE. */
async function untilHeldBack(redis: Redis): Promise<void> {
  await waitFor(async () => /^blocked_clients:[1-9]/m.test(await redis.info('clients')), { what: 'a waiting command' });
}

describe('a transaction that was lost with its connection', () => {
  let queue: QueueFixture;
  beforeAll(async () => {
    queue = await startQueueFixture();
  });
  afterEach(() => queue.reset());
  afterAll(() => queue.stop());

  it('is not repeated once its caller has an error and another request has recorded the sale', async () => {
    let laterMs = 0;
    const first = await queue.aProducer({ now: () => Date.now() + laterMs });
    const second = await queue.aProducer({ redisUrl: queue.redis.url });
    await first.claims.take([INVOICE], 'first');
    // The owner may use its claim for ten seconds, so the commit has half a second left.
    laterMs = 9_500;
    await queue.admin.client('PAUSE', 60_000, 'WRITE');
    const committing = commitOf(first, 'first');
    await untilHeldBack(queue.admin);
    queue.proxy.holdRequests();
    queue.proxy.cut();
    await expect(committing).rejects.toMatchObject({ status: 500 });
    await queue.admin.client('UNPAUSE');
    await queue.admin.del(claimKey(INVOICE));
    await recordAs(second, 'second');
    queue.proxy.pass();
    await waitFor(() => first.ping().then(() => true), { what: 'the connection' });
    // Waits for the transactions that are repeated.
    await first.close();
    expect(await queue.queued('sale')).toMatchObject([{ rows: [{}], progress: null }]);
  });
});

describe('a transaction that was lost with the master', () => {
  let redis: RedisDeployment;
  const directory = temporaryDirectory('waymark-equal-requests-');
  const closing: (() => unknown)[] = [];
  beforeAll(async () => {
    redis = await startRedisSentinels();
  }, 120_000);
  afterAll(async () => {
    for (const close of closing) await close();
    await redis?.stop();
    rmSync(directory, { recursive: true, force: true });
  }, 120_000);

  function connect(port: number): Redis {
    const connection = new Redis({ port, maxRetriesPerRequest: null });
    connection.on('error', () => undefined);
    closing.push(() => connection.disconnect());
    return connection;
  }
  function aProducer(redisUrl: string): EventProducer {
    const producer = createEventProducer({ redisUrl, spoolDirectory: directory, logger: silentLogger });
    closing.push(() => producer.close());
    return producer;
  }

  it('records nothing on the next master when another request has recorded the sale there', async () => {
    const master = connect(await redis.masterPort());
    const [, port] = /^slave0:.*port=(\d+)/m.exec(await master.info('replication')) ?? [];
    const replica = connect(Number(port));
    const first = aProducer(redis.url);
    const second = aProducer(`redis://127.0.0.1:${port}`);
    await waitFor(() => first.ping().then(() => true), { what: 'the first producer' });
    await first.claims.take([INVOICE], 'first');
    await waitFor(async () => (await replica.exists(claimKey(INVOICE))) === 1, { what: 'the claim on the replica' });

    await master.client('PAUSE', 60_000, 'WRITE');
    const committing = commitOf(first, 'first').catch(() => undefined);
    await untilHeldBack(master);
    const failingOver = redis.failOver();
    const isMaster = async () => ((await replica.role()) as unknown[])[0] === 'master';
    await waitFor(isMaster, { what: 'the replica to be promoted' });
    // As if the claim had not reached the replica.
    await replica.del(claimKey(INVOICE));
    await recordAs(second, 'second');
    await committing;
    await master.client('UNPAUSE');
    await failingOver;

    const jobs = await replica.lrange(queueKey('sale', 'wait'), 0, -1);
    const rows = await Promise.all(
      jobs.map(async (id) => ({
        rows: splitRows((await replica.get(rowsKey('sale', id))) ?? '').length,
        progress: await replica.hget(jobKey('sale', id), 'progress'),
      })),
    );
    expect(rows.filter(({ progress }) => progress === null)).toEqual([{ rows: 1, progress: null }]);
  }, 120_000);
});
