import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseClient, createClickHouseClient, migrate } from '@waymark/clickhouse';
import { environmentWith } from '@waymark/config';
import { createEventProducer } from '@waymark/event-queue';
import { createInstanceRegistry } from '@waymark/observability';
import {
  aClick,
  createTestDatabase,
  startClickHouse,
  startRedis,
  startTcpProxy,
  type TcpProxy,
  type TestClickHouse,
  type TestDatabase,
  temporaryDirectory,
  waitFor,
} from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { moveProgress } from '../src/move/move-progress.js';
import { BIN, runCli, runCommand } from './run-cli.js';

const CLICKS = 60_000;
const DATABASE = 'waymark';
/** The beginning of each request that inserts a slice of clicks. Four such requests are under way at a time. */
const INSERT = 'INSERT+INTO+click_events';

/** What a database must have in common with its copy. */
async function contents(client: ClickHouseClient): Promise<unknown[]> {
  return client.rows({
    query: `SELECT
      (SELECT (count(), sum(cityHash64(tuple(*)))) FROM click_events),
      (SELECT (count(), sum(clicks)) FROM (SELECT * FROM link_totals FINAL)),
      (SELECT sum(clicks) FROM workspace_slots), (SELECT sum(clicks) FROM link_days),
      (SELECT (count(), sum(cityHash64(tuple(*)))) FROM webhook_deliveries)`,
  });
}

async function withStore<T>(dataDir: string, work: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const store = await startClickHouse({ dataDir: join(dataDir, 'clickhouse') });
  const client = createClickHouseClient({ url: store.url, database: DATABASE });
  try {
    return await work(client);
  } finally {
    await client.close();
    await store.stop();
  }
}

describe('a move from the embedded store to a server', { timeout: 180_000 }, () => {
  let dataDir: string;
  let server: TestClickHouse;
  let proxy: TcpProxy;
  let target: ClickHouseClient;
  let before: unknown[];

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-move-');
    server = await startClickHouse();
    proxy = await startTcpProxy(Number(new URL(server.url).port));
    target = createClickHouseClient({ url: server.url, database: DATABASE });
    before = await withStore(dataDir, async (client) => {
      await migrate(client);
      await client.command({
        query: `INSERT INTO click_events (workspace_id, timestamp, click_id, link_id, payload)
          SELECT number % 3, toDateTime64('2026-03-01 00:00:00', 3, 'UTC') + number, leftPad(toString(number), 16, '0'), number % 100,
            repeat(leftPad(toString(number), 10, '0'), 400) FROM numbers(${CLICKS})`,
      });
      await client.command({
        query: `INSERT INTO webhook_deliveries (workspace_id, timestamp, event_id)
          SELECT 1, now64(3) - toIntervalMinute(number), toString(number) FROM numbers(100)`,
      });
      return contents(client);
    });
  });
  afterAll(async () => {
    await target.close();
    await proxy.stop();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The address and the environment of a move into the server: the password is not on the command line. */
  function moving(): { readonly env: Record<string, string>; readonly host: string; readonly args: string[] } {
    const { username, password } = new URL(server.url);
    const host = `127.0.0.1:${proxy.port}`;
    return {
      host,
      env: { DATA_DIR: dataDir, MOVE_TO_PASSWORD: password },
      args: ['move', '--to', `http://${username}@${host}/${DATABASE}`],
    };
  }
  async function copiedSlices(): Promise<number> {
    const rows = await target
      .rows<[string]>({ query: 'SELECT count() FROM schema_move_slices WHERE is_copied' })
      .catch(() => []);
    return Number(rows[0]?.[0] ?? 0);
  }
  /** The next run would wait until the lease of the one that has ended has expired. */
  const expireLease = () => target.command({ query: 'TRUNCATE TABLE schema_migration_leases' });
  const untilCopied = (slices: number) =>
    waitFor(async () => (await copiedSlices()) >= slices, { what: `${slices} slices` });

  function exitOf(child: ChildProcess): Promise<unknown> {
    return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
  }

  test('continues after kill -9, and after the loss of the target, with every row once and the source as it was, of which no backup is made meanwhile', async () => {
    const { env, host, args } = moving();
    // So that the move has not ended before it is killed, however fast it is.
    proxy.holdRequestsAt(INSERT, 8);
    const killed = spawn(process.execPath, [BIN, ...args], { env: environmentWith(env), stdio: 'ignore' });
    const killedExit = exitOf(killed);
    await untilCopied(3);
    const backup = await runCommand({ DATA_DIR: dataDir }, 'backup', `${dataDir}-backup`);
    expect([backup.code, backup.stderr]).toEqual([1, expect.stringContaining('waymark move runs on')]);
    killed.kill('SIGKILL');
    expect(await killedExit).toBe('SIGKILL');
    proxy.cut();
    proxy.pass();
    await expireLease();
    const afterKill = await copiedSlices();

    proxy.holdRequestsAt(INSERT, 6);
    const interrupted = runCli(env, ...args);
    await untilCopied(afterKill + 2);
    await server.kill9();
    const { code, stderr, stdout } = await interrupted;
    expect(code).toBe(1);
    expect(stderr).toContain(`the target (${host}, database ${DATABASE}): `);
    expect(stderr).toContain('The move is not finished; the same command continues it');
    await server.restart();
    proxy.cut();
    proxy.pass();
    await expireLease();
    const afterLoss = await copiedSlices();
    expect(afterLoss).toBeGreaterThan(afterKill);

    const finished = await runCli(env, ...args);
    expect(finished).toMatchObject({ code: 0 });
    expect(finished.stdout).toMatch(new RegExp(`click_events +${CLICKS} `));
    expect(finished.stdout).toContain(`CLICKHOUSE_URL=http://${host} CLICKHOUSE_DATABASE=waymark`);
    for (const output of [stderr, stdout, finished.stdout, finished.stderr])
      expect(output).not.toContain(env.MOVE_TO_PASSWORD);
    expect(await contents(target)).toEqual(before);
    expect(existsSync(join(dataDir, 'run', 'supervisor.lock'))).toBe(false);
    expect(await withStore(dataDir, contents)).toEqual(before);

    const again = await runCommand(env, ...args);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('already has tables')]);
  });
});

test('progress says what is left at the speed of this run, which may continue another', () => {
  const progress = { table: 'click_events', rows: 3, bytes: 60e6, totalBytes: 100e6, copiedBytes: 20e6 };
  expect(moveProgress(progress, 10).text).toBe('click_events: 3 rows, 60.0 MB of 100.0 MB, 2.0 MB/s, 20 s left');
  expect(moveProgress({ ...progress, totalBytes: 100e9 }, 10).text).toMatch(/, 13 h 52 min left$/);
  expect(moveProgress({ ...progress, copiedBytes: 0 }, 10).text).not.toContain('left');
});

describe('a move is refused', () => {
  let source: TestDatabase;
  let dataDir: string;
  let env: Record<string, string>;
  const SECRET = 'correct-horse-battery-staple';

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-move-refused-');
    source = await createTestDatabase();
    env = { DATA_DIR: dataDir, CLICKHOUSE_URL: source.url, CLICKHOUSE_DATABASE: source.database };
  });
  afterAll(async () => {
    await source.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function refusal(to: string, more: Record<string, string> = {}, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand({ ...env, ...more }, 'move', '--to', to, ...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).not.toContain(SECRET);
    return stderr;
  }

  test.each([
    [`ftp://me:${SECRET}@host/waymark`, '--to must be a URL that begins with http:// or https://'],
    [`http://me:${SECRET}@host`, '--to must end with the name of a database'],
    [`http://me:${SECRET}@host/way-mark`, '--to must end with the name of a database'],
    [`http://me:${SECRET}@host/waymark?secure=1`, '--to must not have parameters'],
  ])('to an address such as %s', async (to, message) => {
    expect(await refusal(to)).toContain(message);
  });

  test('with a password in two places, or a name that no cluster can have', async () => {
    const twice = await refusal(`http://me:${SECRET}@host/waymark`, { MOVE_TO_PASSWORD: SECRET });
    expect(twice).toContain('the password is given twice: in --to and in MOVE_TO_PASSWORD');
    expect(await refusal('http://host/waymark', {}, '--to-cluster', 'a b')).toContain('--to-cluster must be letters');
  });

  test('with a wrong password, and names where it is set', async () => {
    const { username, host } = new URL(source.url);
    const message = await refusal(`http://${username}@${host}/elsewhere`, { MOVE_TO_PASSWORD: SECRET });
    expect(message).toContain(`the target (${host}, database elsewhere): Authentication failed`);
    expect(message).toContain('--to, MOVE_TO_PASSWORD');
  });

  test('into the database that it would copy from', async () => {
    expect(await refusal(`${source.url}/${source.database}`)).toContain('the target is the source');
  });

  test('while a stack runs, and after one was killed, until it has shut down normally', async () => {
    const run = join(dataDir, 'run');
    mkdirSync(run);
    const lock = (pid: number) => writeFileSync(join(run, 'supervisor.lock'), JSON.stringify({ supervisor: { pid } }));
    lock(process.pid);
    expect(await refusal('http://host/waymark')).toContain('is starting or stopping');
    lock(2 ** 30);
    expect(await refusal('http://host/waymark')).toContain('was killed, so its writer may not have finished');
    rmSync(run, { recursive: true });
  });

  test('while a service runs or the queue has jobs, and names them', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const registry = createInstanceRegistry(redis);
    const writer = {
      service: 'writer',
      instance: 'host:7',
      host: 'host',
      pid: 7,
      startedAt: 1,
      version: '0',
      beatAt: 1,
    };
    await registry.started({ ...writer, lastWorkAt: null });
    expect(await refusal('http://host/waymark', { REDIS_URL: server.url })).toContain('still running: writer (host:7)');
    await registry.stopped({ ...writer, lastWorkAt: null }, 2);

    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const producer = createEventProducer({ redisUrl: server.url, spoolDirectory: join(dataDir, 'spool'), logger });
    await waitFor(() => producer.ping().then(() => true), { what: 'the connection to Redis' });
    await producer.commit({ rows: [{ kind: 'click', row: aClick() }], finals: [] });
    await producer.close();
    expect(await refusal('http://host/waymark', { REDIS_URL: server.url })).toContain('jobs (1 of click)');
    redis.disconnect();
    await server.stop();
  });
});
