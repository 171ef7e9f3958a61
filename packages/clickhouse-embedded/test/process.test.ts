import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { startClickHouse, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { embeddedCommand, embeddedUrl, newEmbeddedPassword, startEmbeddedClickHouse } from '../src/index.js';
import { fetchWithPassword } from './fetch-with-password.js';

const entry = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const password = newEmbeddedPassword();

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waymark-embedded-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function exitOf(child: ChildProcess): Promise<number | NodeJS.Signals | null> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code));
  });
}

test('kill -9 during inserts loses no acknowledged row, and the server starts again', {
  timeout: 180_000,
}, async () => {
  const server = await startClickHouse();
  onTestFinished(() => server.stop());
  const client = createClient({ url: server.url, log: { level: ClickHouseLogLevel.OFF } });
  onTestFinished(() => client.close());
  await client.command({ query: 'CREATE TABLE numbers (n UInt64) ENGINE = MergeTree ORDER BY n' });
  const acknowledged = new Set<string>();
  let next = 0;
  for (let kill = 0; kill < 3; kill++) {
    let isUp = true;
    const work = async () => {
      while (isUp) {
        const n = String(next++);
        await client.insert({ table: 'numbers', values: [{ n }], format: 'JSONEachRow' }).then(
          () => acknowledged.add(n),
          () => undefined,
        );
      }
    };
    const workers = Array.from({ length: 8 }, work);
    const enough = acknowledged.size + 100;
    await waitFor(() => acknowledged.size >= enough, { what: 'a hundred inserts' });
    await server.kill9();
    isUp = false;
    await Promise.all(workers);
    await server.restart();
  }
  const result = await client.query({ query: 'SELECT n FROM numbers', format: 'JSONEachRow' });
  const stored = (await result.json<{ n: string | number }>()).map(({ n }) => String(n));
  const present = new Set(stored);
  expect([...acknowledged].filter((n) => !present.has(n))).toEqual([]);
  expect(present.size).toBe(stored.length);
});

/** A process that starts the server and prints the server's process id and port. */
async function startParent() {
  const { args, env } = embeddedCommand({ dataDir: temporaryDirectory(), password });
  const program = `
    const { fork } = require('node:child_process');
    const child = fork(process.argv[1], process.argv.slice(2));
    child.on('message', ({ port }) => console.log(child.pid, port));`;
  const parent = spawn(process.execPath, ['-e', program, entry, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const [pid = 0, port = 0] = line.toString().split(' ').map(Number);
  return { parent, pid, port };
}

test('the server ends when its parent is killed, with or without a running statement', async () => {
  const { parent, pid, port } = await startParent();
  const url = embeddedUrl(port, password);
  // One second per block, a minute in total.
  const query = 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1';
  const running = fetchWithPassword(`${url}/?${new URLSearchParams({ query })}`);
  const isRunning = async () => {
    const count = "SELECT count() FROM system.processes WHERE query LIKE '%sleepEachRow(1)%60%' FORMAT TSV";
    return Number(await (await fetchWithPassword(`${url}/?${new URLSearchParams({ query: count })}`)).text()) === 2;
  };
  await Promise.all([
    expect(running).rejects.toThrow(),
    (async () => {
      await waitFor(isRunning, { what: 'the statement to run' });
      expect(isAlive(pid)).toBe(true);
      parent.kill('SIGKILL');
      await waitFor(() => !isAlive(pid), { what: 'the server to end' });
    })(),
  ]);
});

test('as many statements run at the same time as the server has sessions', async () => {
  const [dataDir, sessions] = [temporaryDirectory(), 20];
  const server = await startEmbeddedClickHouse({ dataDir, entry, password, sessions });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  const send = async (query: string) => {
    const url = `${embeddedUrl(server.port, password)}/?${new URLSearchParams({ query })}`;
    return (await fetchWithPassword(url)).text();
  };
  // One second per block, a minute in total.
  const slow = 'SELECT sleepEachRow(1) FROM numbers(60) SETTINGS max_block_size = 1';
  const running = Promise.allSettled(Array.from({ length: sessions }, () => send(slow)));
  const count = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleepEachRow(1)%' FORMAT TSV";
  await waitFor(async () => Number(await send(count)) === sessions, { what: 'all statements to run' });
  server.child.kill('SIGKILL');
  await running;
});

test('the server does not start without a password', async () => {
  const { args, env } = embeddedCommand({ dataDir: temporaryDirectory(), password });
  const child = fork(entry, args, {
    execArgv: [],
    env: { ...env, WAYMARK_EMBEDDED_PASSWORD: '' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  expect(await exitOf(child)).toBe(2);
  expect(errors).toContain('WAYMARK_EMBEDDED_PASSWORD');
});

describe('a server', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'waymark-embedded-'));
  let server: Awaited<ReturnType<typeof startClickHouse>>;
  let client: ReturnType<typeof createClient>;
  beforeAll(async () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    server = await startClickHouse({ dataDir });
    vi.unstubAllEnvs();
    client = createClient({ url: server.url, log: { level: ClickHouseLogLevel.OFF } });
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  });
  const rows = async <T>(query: string) => (await client.query({ query, format: 'JSONEachRow' })).json<T>();

  // First: mutations, which run in the background without the settings of statements, do compile, and its events count them.
  test('compiles no expressions of statements to machine code, which would take longer than it saves', async () => {
    const query = 'SELECT number * 2 + 7 AS sum FROM numbers(3) WHERE sum % 5 > 1';
    for (let times = 0; times < 5; times++) await rows(query);
    const compiled = "SELECT sum(value) AS n FROM system.events WHERE event LIKE 'Compile%'";
    expect(await rows(compiled)).toEqual([{ n: 0 }]);
  });

  test('reads times without a zone as UTC, also on a machine with another time zone', async () => {
    const query = "SELECT serverTimezone() AS machine, toUnixTimestamp(toDateTime('2026-01-01 00:00:00')) * 1000 AS ms";
    expect(await rows(query)).toEqual([{ machine: 'Asia/Tokyo', ms: Date.UTC(2026, 0, 1) }]);
  });

  test('does not have its password in its command line', () => {
    const line = execFileSync('ps', ['-o', 'args=', '-p', String(server.pid)], { encoding: 'utf8' });
    expect(line).toContain('--data-dir');
    expect(line).not.toContain(new URL(server.url).password);
  });

  test('goes on when a second process on its data directory is refused', async () => {
    const { args, env } = embeddedCommand({ dataDir, password });
    const second = fork(entry, args, {
      execArgv: [],
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let errors = '';
    second.stderr?.on('data', (data) => {
      errors += data;
    });
    expect(await exitOf(second)).toBe(1);
    expect(errors).toContain('another process may be using it');
    expect((await fetchWithPassword(`${server.url}/ping`)).status).toBe(200);
  });

  test('waits for the running statement when it is stopped', async () => {
    const running = fetchWithPassword(`${server.url}/?${new URLSearchParams({ query: 'SELECT sleep(1)' })}`);
    await waitFor(
      async () => {
        const query = "SELECT count() FROM system.processes WHERE query LIKE '%sleep(1)' FORMAT TSV";
        return (await (await fetchWithPassword(`${server.url}/?${new URLSearchParams({ query })}`)).text()) === '1\n';
      },
      { what: 'the statement to run' },
    );
    await server.stop();
    expect(await (await running).text()).toBe('0\n');
  });
});
