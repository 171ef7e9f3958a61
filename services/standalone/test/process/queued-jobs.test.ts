import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environmentWith, type RunState } from '@waymark/config';
import { queueDepths } from '@waymark/event-queue';
import { connectRedis } from '@waymark/redis';
import { endProcess, waitFor } from '@waymark/test-kit';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { migratedDataDir, pidOf, removeDataDir, runUp, UP_MS_MAX, type Up } from './run-up.js';

const CLI = fileURLToPath(new URL('../../../cli/bin/waymark.mjs', import.meta.url));
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

const dataDirs: string[] = [];
/** A directory that its stack has left with an empty queue. */
let stopped = '';
afterAll(() => dataDirs.forEach(removeDataDir));

/** What the command line prints, to standard output and as errors. */
function run(dataDir: string, ...args: string[]): Promise<string> {
  const env = environmentWith({ DATA_DIR: dataDir, MOVE_TO_PASSWORD: 'none' });
  return new Promise((resolve) =>
    execFile(process.execPath, [CLI, ...args], { env }, (_err, out, err) => resolve(out + err)),
  );
}
/** Nothing listens at the target, so a move that is not refused fails as well. */
const move = (dataDir: string) => run(dataDir, 'move', '--to', 'http://waymark@127.0.0.1:1/waymark');

async function start(dataDir: string): Promise<{ readonly up: Up; readonly state: RunState }> {
  const up = runUp(dataDir, { SHUTDOWN_DEADLINE_MS: '1000' });
  onTestFinished(() => endProcess(up.child, 'SIGKILL'));
  const state = await up.ready();
  await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line', details: up.output });
  return { up, state };
}

async function click(state: RunState, apiKey: string): Promise<void> {
  const created = await fetch(`${state.api}/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://example.com/', key: 'try', domain: 'localhost' }),
  });
  expect(created.status).toBe(200);
  const visited = `http://localhost:${new URL(state.links).port}/try`;
  expect((await fetch(visited, { headers: { 'user-agent': BROWSER }, redirect: 'manual' })).status).toBe(302);
}

/** The output of a start that fails. */
async function failedStart(dataDir: string, env: Record<string, string>): Promise<string> {
  const up = runUp(dataDir, env);
  expect(await up.ended()).toBe(1);
  return up.output();
}

/** A port that stays in use until the end of the test. */
async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

const REFUSED = 'the last stop left jobs in the queue, could not count them, or was done by an older release';

it(
  'a move is refused after a stop with jobs in the queue, and from a backup of that stack, until it has stopped without jobs',
  async () => {
    const dataDir = await migratedDataDir();
    const [backup, restored] = [`${dataDir}-backup`, `${dataDir}-restored`];
    dataDirs.push(dataDir, backup, restored);
    const { up, state } = await start(dataDir);
    // A writer that cannot take the job, and that has to be killed when the stack stops.
    process.kill(pidOf(state.pids.writer), 'SIGSTOP');
    await click(state, up.firstKey());
    expect(await up.stop()).toBe(0);
    expect(up.output()).toContain('the queue still has jobs: 1 of click');
    expect(await move(dataDir)).toContain(REFUSED);

    await run(dataDir, 'backup', backup);
    await run(restored, 'restore', backup);
    expect(await move(restored)).toContain('they were restored from a backup');
    // This start prepares the restored stores, but is killed.
    const { up: killed } = await start(restored);
    expect(killed.output()).toContain('restored from a backup of');
    killed.child.kill('SIGKILL');
    await killed.ended();
    expect(await failedStart(restored, { API_PORT: await takenPort() })).toContain('API_PORT');
    expect(await move(restored)).toContain(REFUSED);

    const { up: again, state: restoredState } = await start(restored);
    const redis = connectRedis(restoredState.redis);
    const isEmpty = async () => Object.values((await queueDepths(redis)).click).every((jobs) => jobs === 0);
    await waitFor(isEmpty, { what: 'an empty queue' });
    redis.disconnect();
    expect(await again.stop()).toBe(0);
    expect(await move(restored)).toContain('ECONNREFUSED');
    stopped = restored;
  },
  UP_MS_MAX,
);

it(
  'a move is refused after a kill, also when the next start fails before Redis runs, and after a stop that could not mark the queue',
  async () => {
    expect(stopped).not.toBe('');
    const dataDir = stopped;
    const API_PORT = await takenPort();
    // The failed start has not touched the stores, which are as the stop has left them.
    expect(await failedStart(dataDir, { API_PORT })).toContain('API_PORT');
    expect(await move(dataDir)).toContain('ECONNREFUSED');
    // A release that leaves the mark has run meanwhile.
    const log = readdirSync(join(dataDir, 'redis', 'appendonlydir')).find((name) => name.endsWith('.incr.aof'));
    appendFileSync(join(dataDir, 'redis', 'appendonlydir', String(log)), '*1\r\n$4\r\nPING\r\n');
    expect(await move(dataDir)).toContain(REFUSED);

    const { up: killed } = await start(dataDir);
    killed.child.kill('SIGKILL');
    await killed.ended();
    expect(await move(dataDir)).toContain('was killed');
    expect(await failedStart(dataDir, { API_PORT })).toContain('API_PORT');
    expect(await move(dataDir)).toContain(REFUSED);

    const { up: unnoted } = await start(dataDir);
    // As on a full disk, the mark cannot be written.
    symlinkSync(join(dataDir, 'missing', 'file'), join(dataDir, 'redis', 'queue-empty'));
    expect(await unnoted.stop()).toBe(0);
    expect(unnoted.output()).toContain('the queue was not marked as empty');
    expect(await move(dataDir)).toContain(REFUSED);
  },
  UP_MS_MAX,
);
