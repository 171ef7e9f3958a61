import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { environmentWith, identifyProcess, instanceKeyFiles, type RunState } from '@waymark/config';
import type { Link } from '@waymark/contract';
import { createTestDatabase, makeMigratedStore, startRedis, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pidOf, removeDataDir, removeUp, runUp, temporaryDataDir, UP_MS_MAX, type Up } from './run-up.js';

const CLI = fileURLToPath(new URL('../../../cli/bin/waymark.mjs', import.meta.url));
const API_KEY = /\bdub_[0-9A-Za-z]{24}\b/;

function runningPids(pids: readonly (number | null)[]): number[] {
  return pids.filter((pid) => pid !== null).filter((pid) => identifyProcess(pid) !== undefined);
}

const passwordsOf = ({ redis, clickhouse }: RunState) => [redis, clickhouse].map((url) => new URL(url).password);

async function isReady({ api }: RunState): Promise<boolean> {
  return (await fetch(`${api}/readyz`)).ok;
}

describe('up', { timeout: 120_000 }, () => {
  let up: Up;
  let state: RunState;
  let apiKey: string;

  beforeAll(async () => {
    up = runUp(temporaryDataDir());
    state = await up.ready();
    await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
  }, UP_MS_MAX);
  afterAll(() => removeUp(up));

  it('writes the addresses and pids of the stack to the run file, which only its owner can read', async () => {
    expect(state).toEqual({
      api: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      links: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      redis: expect.stringMatching(/^redis\+unix:\/\/:[\w-]{43}@localhost\/.+\/run\/redis\.sock$/),
      clickhouse: expect.stringMatching(/^http\+unix:\/\/default:[\w-]{43}@localhost\/.+\/run\/clickhouse\.sock$/),
      pids: {
        supervisor: up.child.pid,
        http: expect.any(Number),
        writer: expect.any(Number),
        clickhouse: expect.any(Number),
        redis: expect.any(Number),
      },
    });
    expect(runningPids(Object.values(state.pids))).toHaveLength(5);
    expect(statSync(join(up.dataDir, 'run', 'standalone.json')).mode & 0o077).toBe(0);
    expect(statSync(join(up.dataDir, 'instance.key')).mode & 0o077).toBe(0);
    // DATA_DIR itself may have open permissions, as one that a package has created.
    const folders = ['run', 'clickhouse', 'redis', 'logs'].map((name) => [name, join(up.dataDir, name)] as const);
    for (const [name, folder] of folders) expect([name, statSync(folder).mode & 0o077]).toEqual([name, 0]);
    expect(await isReady(state)).toBe(true);
  });

  it('creates a workspace at the first start, whose key works and is in a file of its own, not in a log', async () => {
    apiKey = up.firstKey();
    expect(statSync(join(up.dataDir, 'first-api.key')).mode & 0o077).toBe(0);
    expect(up.output()).not.toMatch(API_KEY);
    expect(up.output()).toContain(join(up.dataDir, 'first-api.key'));
    const answer = await fetch(`${state.api}/domains`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject([{ slug: 'localhost', primary: true }]);
    const workspace = await fetch(`${state.api}/workspaces/default`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(await workspace.json()).toMatchObject({ plan: 'enterprise', usageLimit: null });
  });

  it('fails with the reason when the data directory or a port is in use', async () => {
    const second = runUp(up.dataDir);
    expect(await second.ended()).toBe(1);
    expect(second.output()).toContain(`in use by another waymark (process ${up.child.pid})`);

    const elsewhere = runUp(temporaryDataDir(), { API_PORT: new URL(state.api).port });
    expect(await elsewhere.ended()).toBe(1);
    expect(elsewhere.output()).toContain('set API_PORT');
    await removeUp(elsewhere);
    expect(up.state()).toEqual(state);
  });

  it.each(['http', 'writer', 'clickhouse', 'redis'] as const)('restarts %s when it is killed', async (name) => {
    const before = up.state()?.pids[name];
    process.kill(pidOf(before), 'SIGKILL');
    const after = await waitFor(() => [up.state()].find((now) => now !== undefined && now.pids[name] !== before), {
      what: `a new ${name} in the run file`,
    });
    expect(runningPids(Object.values(after.pids))).toHaveLength(5);
    expect({ ...after, pids: 0 }).toEqual({ ...state, pids: 0 });
    await waitFor(() => isReady(after), { what: 'the API to be ready' });
    state = after;
  });

  it('runs on when a process is restarted while DATA_DIR cannot be written, as on a full disk', async () => {
    const draft = join(up.dataDir, 'run', `supervisor.lock.${up.child.pid}`);
    mkdirSync(draft);
    const { writer } = state.pids;
    process.kill(pidOf(writer), 'SIGKILL');
    await waitFor(() => up.output().includes('DATA_DIR cannot be written'), { what: 'a report' });
    expect(up.child.exitCode).toBeNull();
    expect(await isReady(state)).toBe(true);
    rmdirSync(draft);
    state = await waitFor(() => [up.state()].find((now) => now !== undefined && now.pids.writer !== writer), {
      what: 'the new writer in the run file',
    });
  });

  it(
    'leaves no process running when it is killed, and can be started again on the same data, with rotated keys and new passwords of the stores',
    async () => {
      const call = async (path: string, body?: object) => {
        const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
        const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
        return (await fetch(`${state.api}${path}`, { headers, ...request })).json() as Promise<Link>;
      };
      const { id } = await call('/links', { url: 'https://acme.com', key: 'locked', password: 'open sesame' });
      up.child.kill('SIGKILL');
      await up.ended();
      await waitFor(() => runningPids(Object.values(state.pids)).length === 0, {
        what: 'the end of every process',
      });
      expect(up.state()).toEqual(state);
      // The killed stores have left their sockets, which the next ones replace.
      for (const name of ['redis.sock', 'clickhouse.sock'])
        expect(existsSync(join(up.dataDir, 'run', name))).toBe(true);

      instanceKeyFiles.rotate(up.dataDir);
      const passwords = passwordsOf(state);
      up = runUp(up.dataDir);
      state = await waitFor(() => [up.state()].find((now) => now?.pids.supervisor === up.child.pid), {
        what: 'a new run file',
      });
      await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
      expect(up.output()).not.toMatch(API_KEY);
      expect((await call(`/links/${id}`)).password).toBe('open sesame');
      expect(new Set([...passwords, ...passwordsOf(state)]).size).toBe(4);
    },
    UP_MS_MAX,
  );

  it('stops everything in order on Ctrl-C, which reaches the whole process group, and then another one can start', async () => {
    process.kill(-pidOf(up.child.pid), 'SIGINT');
    const lock = join(up.dataDir, 'run', 'supervisor.lock');
    await waitFor(() => !existsSync(lock), { what: 'the end of the lock' });
    const { supervisor: _supervisor, ...children } = state.pids;
    expect(runningPids(Object.values(children))).toEqual([]);
    expect(await up.ended()).toBe(0);
    expect(runningPids(Object.values(state.pids))).toEqual([]);
    expect(up.state()).toBeUndefined();
    const stops = [...up.output().matchAll(/^· (\w+) stopped$/gm)].map(([, name]) => name);
    expect(stops).toEqual(['http', 'writer', 'clickhouse', 'redis']);
  });
});

it('up uses the configured stores, and starts none of its own', async () => {
  const [redis, database] = await Promise.all([
    startRedis({ args: ['--maxmemory-policy', 'volatile-lru'] }),
    createTestDatabase(),
  ]);
  const up = runUp(temporaryDataDir(), {
    REDIS_URL: redis.url,
    CLICKHOUSE_URL: database.url,
    CLICKHOUSE_DATABASE: database.database,
    DEFAULT_DOMAIN: 'go.acme.test',
  });
  try {
    const state = await up.ready();
    expect(state).toMatchObject({
      redis: redis.url,
      clickhouse: database.url,
      pids: { redis: null, clickhouse: null },
    });
    await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
    expect(up.output()).toContain('maxmemory-policy is volatile-lru');
    expect(up.output()).toContain(`-H 'Host: go.acme.test' ${state.links}/try`);
    expect(await up.stop()).toBe(0);
  } finally {
    await removeUp(up);
    await Promise.all([redis.stop(), database.drop()]);
  }
});

describe('a stack whose first start fails', () => {
  const dataDir = temporaryDataDir();
  const long = join(dataDir, 'a-directory-of-thirty-letters/'.repeat(4));
  let up: Up;
  afterAll(async () => {
    await removeUp(up);
    removeDataDir(dataDir);
  });

  it(
    'the key of the first workspace is in its file although the first start fails, and a later start shows where',
    async () => {
      mkdirSync(long, { recursive: true });
      await makeMigratedStore(join(long, 'clickhouse'));
      const noDatabase = join(long, 'city.mmdb');
      writeFileSync(noDatabase, 'of another format');
      const failed = runUp(long, { GEO_DATABASE: noDatabase });
      expect(await failed.ended()).toBe(1);
      up = runUp(long, {}, 'npm');
      const keyFile = join(long, 'first-api.key');
      expect(statSync(keyFile).mode & 0o777).toBe(0o600);
      const { api } = await up.ready();
      await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
      expect(up.output()).toContain(`export WAYMARK_KEY=$(cat '${keyFile}')`);
      const answer = await fetch(`${api}/domains`, { headers: { authorization: `Bearer ${up.firstKey()}` } });
      expect(answer.status).toBe(200);
    },
    UP_MS_MAX,
  );

  it('npm run up starts on a DATA_DIR whose path is too long for a socket, where the command line finds its stores, and forwards SIGTERM', async () => {
    const state = await up.ready();
    expect(state.redis).not.toContain(dataDir);
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, 'status', '--json'], {
      env: environmentWith({ DATA_DIR: long }),
    });
    expect(JSON.parse(stdout)).toMatchObject({ redis: { ok: true }, clickhouse: { ok: true } });
    expect(await up.stop()).toBe(0);
    expect(runningPids(Object.values(state.pids))).toEqual([]);
    expect(up.state()).toBeUndefined();
  }, 120_000);
});
