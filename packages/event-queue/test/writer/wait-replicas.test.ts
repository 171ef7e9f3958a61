import { createReplication, NotReplicatedError } from '@waymark/redis';
import { aClick, startRedis, type TestRedis, waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listDeadLetters } from '../../src/index.js';
import { createDeadLetters } from '../../src/queue/dead-letters.js';
import { createInsertsElsewhere } from '../../src/queue/inserts-elsewhere.js';
import { TAILS_KEY, tailKey } from '../../src/queue/keys.js';
import { createTails } from '../../src/tail/tails.js';
import { createManifest, type NewInsertBatch } from '../../src/writer/manifest.js';
import { alone, soleManifest } from '../alone.js';

let master: TestRedis;
let replica: TestRedis;
let redis: Redis;
let promoted: Redis;

beforeAll(async () => {
  master = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  replica = await startRedis({ args: ['--replicaof', `127.0.0.1 ${master.port}`] });
  redis = new Redis(master.url);
  promoted = new Redis(replica.url);
});
afterAll(async () => {
  redis.disconnect();
  promoted.disconnect();
  await Promise.all([replica.stop(), master.stop()]);
});

const batch: NewInsertBatch = { id: 'batch', kind: 'click', version: 1, jobIds: ['job'], skipped: {}, at: Date.now() };
const letter = { kind: 'click', version: 1, row: '[]', error: 'refused', at: 1, jobId: 'job', index: 0 } as const;

it('an acknowledgement or a dead letter that a failover loses has not succeeded, and succeeds on the next server', async () => {
  const replication = createReplication(redis, 1);
  const manifest = createManifest(redis, replication, createInsertsElsewhere([], Date.now));
  const tails = createTails(redis, replication);
  const open = () => tails.open({ workspace: '1', name: 'key:a' }, { perKey: 1, perWorkspace: 1 });
  await waitFor(() => open().catch(() => false), { what: 'a stream that the replica confirms' });
  await manifest.begin(batch);
  const version = (await redis.hget(TAILS_KEY, 'version')) ?? '';
  const entries = [{ workspace: '1', ids: [String(aClick()[2])] }];
  const acknowledgement = {
    ...{ batchId: batch.id, jobIds: batch.jobIds, webhookJobs: [] },
    publication: { version, kind: 'click' as const, entries },
  };

  process.kill(replica.pid, 'SIGSTOP');
  await expect(manifest.acknowledge(acknowledgement)).rejects.toThrow(NotReplicatedError);
  await expect(createDeadLetters(redis, replication).park([letter])).rejects.toThrow(NotReplicatedError);
  await master.kill9();
  process.kill(replica.pid, 'SIGCONT');
  await promoted.replicaof('NO', 'ONE');

  const next = soleManifest(promoted);
  await next.acknowledge(acknowledgement);
  expect(await next.read(batch.id)).toMatchObject({ state: 'acknowledged' });
  expect(await promoted.xlen(tailKey('1'))).toBe(2);
  await createDeadLetters(promoted, alone(promoted)).park([letter]);
  expect((await listDeadLetters(promoted)).total).toBe(1);
});
