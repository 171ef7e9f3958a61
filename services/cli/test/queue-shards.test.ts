import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { insertRows } from '@waymark/clickhouse';
import { parseResourceId } from '@waymark/contract';
import { queueDepths } from '@waymark/event-queue';
import {
  createTestDatabase,
  startRedis,
  type TestDatabase,
  type TestRedis,
  temporaryDirectory,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './run-cli.js';

const INSTANCE_KEY = '07'.repeat(32);
const EVENT = `evt_${'a'.repeat(25)}`;

let servers: [TestRedis, TestRedis];
let clients: [Redis, Redis];
let database: TestDatabase;
let dataDir: string;
beforeAll(async () => {
  dataDir = temporaryDirectory('waymark-cli-');
  database = await createTestDatabase();
  servers = [await startRedis({ args: [] }), await startRedis({ args: [] })];
  clients = servers.map(({ url }) => new Redis(url)) as typeof clients;
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await Promise.all([database.drop(), ...servers.map((server) => server.stop())]);
  rmSync(dataDir, { recursive: true });
});

const waymark = (...args: string[]) =>
  runCommand(
    {
      ...{ DATA_DIR: dataDir, INSTANCE_KEY, CLICKHOUSE_URL: database.url, CLICKHOUSE_DATABASE: database.database },
      ...{ REDIS_URL: servers[0].url, QUEUE_SHARDS: servers[1].url },
    },
    ...args,
  );
async function json<T>(...args: string[]): Promise<T> {
  const { stdout } = await waymark(...args, '--json');
  return JSON.parse(stdout) as T;
}

/** Parks a row in the Redis of a shard, as a writer does. */
async function park(shard: 0 | 1, id: string, at: number): Promise<void> {
  const letter = { kind: 'click', version: 1, row: '[]', error: 'refused', at, jobId: id, index: 0 };
  await clients[shard].hset(`{waymark}:dead-letter:${id}`, 'data', JSON.stringify(letter));
  await clients[shard].lpush('{waymark}:dead-letter:wait', id);
}

describe('with two queue shards', () => {
  it('workspaces are spread over them, or placed by --queue-shard', async () => {
    const create = async (slug: string, ...more: string[]) => {
      const made = await json<{ workspace: { queueShard: number } }>('workspace', 'create', '--slug', slug, ...more);
      return made.workspace.queueShard;
    };
    expect(await create('one')).toBe(0);
    expect(await create('two')).toBe(1);
    expect(await create('three', '--queue-shard', '1')).toBe(1);
    const listed = await json<{ workspaces: { queueShard: number }[] }>('workspace', 'list');
    expect(listed.workspaces.map(({ queueShard }) => queueShard)).toEqual([0, 1, 1]);
    const refusals = [
      await waymark('workspace', 'create', '--slug', 'four', '--queue-shard', '2'),
      await waymark('workspace', 'create', '--slug', 'four', '--queue-shard', 'x'),
    ];
    expect(refusals.map(({ code, stderr }) => [code, stderr.trim()])).toEqual([
      [1, expect.stringContaining('There is no queue shard 2')],
      [1, expect.stringContaining('--queue-shard must be the number of a queue shard')],
    ]);
  });

  it('dead letters of all of them are listed, oldest first, and replayed where they are', async () => {
    await park(1, 'older', 1_000);
    await park(0, 'newer', 2_000);
    const listed = await json<{ total: number; letters: { id: string }[] }>('dead-letters', 'list');
    expect([listed.total, listed.letters.map(({ id }) => id)]).toEqual([2, ['older', 'newer']]);
    expect(await json('dead-letters', 'replay', 'older')).toEqual({ replayed: 1 });
    expect(await clients[1].lrange('{waymark}:click:wait', 0, -1)).toEqual(['older']);
    expect(await json('dead-letters', 'replay')).toEqual({ replayed: 1 });
    expect(await clients[0].lrange('{waymark}:click:wait', 0, -1)).toEqual(['newer']);
  });

  it('dead letters of all of them are discarded, after a file has their rows', async () => {
    for (const [index, id] of ['one', 'two', 'three'].entries()) await park(index === 1 ? 1 : 0, id, 1_000 + index);
    const output = join(dataDir, 'discarded.jsonl');
    const idsIn = (file: string) =>
      readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id);
    const refused = [
      await waymark('dead-letters', 'discard', '--output', output),
      await waymark('dead-letters', 'discard', 'one', '--all', '--output', output),
      await waymark('dead-letters', 'discard', '--all'),
      await waymark('dead-letters', 'discard', '--all', '--output', join(dataDir, 'no', 'folder')),
      await waymark('dead-letters', 'discard', 'unknown', '--output', output),
    ];
    expect(refused.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
    expect(refused.at(-1)?.stderr).toContain('no such dead letter');
    expect((await json<{ total: number }>('dead-letters', 'list')).total).toBe(3);

    const { code, stdout } = await waymark('dead-letters', 'discard', 'two', 'unknown', '--output', output);
    expect([code, stdout]).toEqual([0, `1 discarded; ${output} has their rows\n`]);
    expect(idsIn(output)).toEqual(['two']);
    expect(JSON.parse(readFileSync(output, 'utf8'))).toMatchObject({ kind: 'click', row: '[]', error: 'refused' });
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect((await waymark('dead-letters', 'discard', '--all', '--output', output)).code).toBe(1);

    await clients[1].lpush('{waymark}:dead-letter:wait', 'without data');
    const rest = join(dataDir, 'rest.jsonl');
    // The rows are about persons and may be more than fit in memory, so only the file has them.
    expect(await json('dead-letters', 'discard', '--all', '--output', rest)).toEqual({ discarded: 3, file: rest });
    expect(idsIn(rest)).toEqual(['one', 'three', 'without data']);
    expect((await json<{ total: number }>('dead-letters', 'list')).total).toBe(0);
    const none = join(dataDir, 'none.jsonl');
    expect(await json('dead-letters', 'discard', '--all', '--output', none)).toEqual({ discarded: 0, file: null });
    expect(existsSync(none)).toBe(false);
    expect(await clients[0].exists('{waymark}:dead-letter:one')).toBe(0);
  });

  it('deliveries are queued again in the shard of their workspace', async () => {
    const { workspaces } = await json<{ workspaces: { id: string; slug: string }[] }>('workspace', 'list');
    const id = workspaces.find(({ slug }) => slug === 'two')?.id ?? '';
    const row = [
      parseResourceId('workspace', id) ?? '',
      '5',
      Date.now(),
      EVENT,
      'link.updated',
      1,
      'https://x.test',
      500,
      '{}',
    ];
    const columns = [
      'workspace_id',
      'webhook_id',
      'timestamp',
      'event_id',
      'event',
      'attempt',
      'url',
      'status',
      'request_body',
    ];
    await insertRows(database.client, { table: 'webhook_deliveries', columns, rows: [row] });
    expect(await json('webhooks', 'replay', EVENT, '--workspace', 'two')).toEqual({ replayed: 1 });
    expect((await queueDepths(clients[1])).webhook.waiting).toBe(1);
    expect((await queueDepths(clients[0])).webhook.waiting).toBe(0);
  });

  it('status shows each, and fails when one does not answer', async () => {
    const before = await waymark('status');
    expect(before.stdout).toMatch(/^redis-1 +\d+ MB of/m);
    expect(before.stdout).toMatch(/^webhook-1 +1 /m);
    await servers[1].kill9();
    const after = await json<{ redis: { ok: boolean }; queueShards: { ok: boolean }[] }>('status');
    expect([after.redis.ok, after.queueShards.map(({ ok }) => ok)]).toEqual([true, [false]]);
  });
});
