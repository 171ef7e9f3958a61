import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createClickHouseClient } from '@waymark/clickhouse';
import { identifyProcess, type RunState } from '@waymark/config';
import { connectRedis } from '@waymark/redis';
import { strangerCannotRun, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stablePort } from '../stable-port.js';
import { migratedDataDir, pidOf, removeUp, runUp, UP_MS_MAX, type Up } from './run-up.js';

/** Another user of the machine gets no more from a running stack than its public ports offer to every client. */

const NOBODY = 65_534;
const reason = process.getuid?.() === 0 ? strangerCannotRun() : 'only root can start a process of another user';

/** Runs as another user: tries to read files and to use the stores, and prints the results. */
const STRANGER = `
const { readFileSync, readdirSync, unlinkSync, writeFileSync } = require('node:fs');
const { connect } = require('node:net');
const { execFileSync } = require('node:child_process');
const { files, folders, sockets, pids } = JSON.parse(process.argv[1]);
const attempt = (work) => { try { return String(work()); } catch (err) { return err.code ?? err.message; } };
const talk = (socket) => new Promise((resolve) => {
  const connection = connect(socket, () => resolve('connected'));
  connection.on('error', (err) => resolve(err.code));
});
(async () => {
  console.log(JSON.stringify({
    uid: process.getuid(),
    files: files.map((file) => attempt(() => readFileSync(file, 'utf8'))),
    folders: folders.map((folder) => attempt(() => readdirSync(folder))),
    written: folders.map((folder) => attempt(() => writeFileSync(folder + '/stranger', ''))),
    environments: pids.map((pid) => attempt(() => readFileSync('/proc/' + pid + '/environ', 'utf8'))),
    commandLines: attempt(() => execFileSync('ps', ['-ww', '-A', '-o', 'args='], { encoding: 'utf8', maxBuffer: 1e8 })),
    sockets: await Promise.all(sockets.map(talk)),
    removed: sockets.map((socket) => attempt(() => unlinkSync(socket))),
  }));
})();
`;

interface Attempts {
  readonly uid: number;
  readonly files: string[];
  readonly folders: string[];
  readonly written: string[];
  readonly environments: string[];
  readonly commandLines: string;
  readonly sockets: string[];
  readonly removed: string[];
}

/**
 * Runs as another user: listens wherever a store could be expected, while the stores are away. Prints a line for each place and for all
 * that it receives.
 */
const IMPOSTOR = `
const { createServer } = require('node:net');
for (const place of JSON.parse(process.argv[1])) {
  const server = createServer((connection) => {
    connection.on('data', (data) => console.log('received', JSON.stringify(String(data))));
    connection.on('error', () => undefined);
  });
  server.on('error', (err) => console.log(err.code, JSON.stringify(place)));
  server.listen(place, () => console.log('listening', JSON.stringify(place)));
}
`;

/** How often the services have failed to connect to the socket. */
function failedConnections(dataDir: string, socket: string): number {
  const log = readFileSync(join(dataDir, 'logs', 'http.log'), 'utf8');
  return log.split('\n').filter((line) => line.includes(`connect ECONNREFUSED ${socket}`)).length;
}

describe.skipIf(reason)(`another user of the machine${reason ? ` (skipped: ${reason})` : ''}`, () => {
  let up: Up;
  let state: RunState;
  let attempts: Attempts;
  let secrets: string[];
  let sockets: string[];
  const asNobody = { cwd: '/', uid: NOBODY, gid: NOBODY };

  beforeAll(async () => {
    up = runUp(await migratedDataDir());
    state = await up.ready();
    await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
    // Like a DATA_DIR that a package or a container has created with open permissions.
    chmodSync(up.dataDir, 0o755);
    const inside = (name: string) => join(up.dataDir, name);
    sockets = ['redis.sock', 'clickhouse.sock'].map((name) => join(up.dataDir, 'run', name));
    const task = {
      files: ['run/standalone.json', 'run/supervisor.lock', 'admin.key', 'instance.key', 'clickhouse/access.xml'].map(
        inside,
      ),
      folders: ['run', 'clickhouse', 'redis', 'logs'].map(inside),
      sockets,
      pids: Object.values(state.pids),
    };
    secrets = [new URL(state.redis).password, new URL(state.clickhouse).password];
    const output = execFileSync(process.execPath, ['-e', STRANGER, JSON.stringify(task)], {
      ...asNobody,
      encoding: 'utf8',
      maxBuffer: 1e8,
    });
    attempts = JSON.parse(output) as Attempts;
  }, UP_MS_MAX);
  afterAll(() => removeUp(up));

  it('has another uid, and the stores have passwords', () => {
    expect(attempts.uid).toBe(NOBODY);
    for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
    expect(new Set(secrets).size).toBe(2);
  });

  it('cannot read files with secrets, list the directories of the data, or write to them', () => {
    expect(new Set([...attempts.files, ...attempts.folders, ...attempts.written])).toEqual(new Set(['EACCES']));
    expect(statSync(join(up.dataDir, 'run')).mode & 0o777).toBe(0o700);
    expect(statSync(join(up.dataDir, 'run', 'standalone.json')).mode & 0o777).toBe(0o600);
  });

  it('finds the passwords neither in environments nor in command lines', () => {
    expect(new Set(attempts.environments)).toEqual(new Set(['EACCES']));
    expect(attempts.commandLines).toContain('redis-server');
    for (const secret of secrets) expect(attempts.commandLines).not.toContain(secret);
  });

  it('cannot connect to the stores, which listen on sockets only, nor remove their sockets', async () => {
    expect([state.redis, state.clickhouse].map((url) => new URL(url).pathname)).toEqual(sockets);
    expect(attempts.sockets).toEqual(['EACCES', 'EACCES']);
    expect(attempts.removed).toEqual(['EACCES', 'EACCES']);
    const redis = connectRedis(state.redis);
    expect(await redis.config('GET', 'port')).toEqual(['port', '0']);
    redis.disconnect();
  });

  it('would need the passwords as well', async () => {
    const withoutPassword = (url: string) => Object.assign(new URL(url), { username: '', password: '' }).href;
    const redis = connectRedis(withoutPassword(state.redis), { lazyConnect: true });
    redis.on('error', () => undefined);
    await expect(redis.get('x')).rejects.toThrow('NOAUTH');
    redis.disconnect();
    const clickhouse = createClickHouseClient({ url: withoutPassword(state.clickhouse), database: 'waymark' });
    await expect(clickhouse.rows({ query: 'SELECT 1' })).rejects.toThrow('Authentication failed');
    await clickhouse.close();
  });

  it('receives nothing when it listens in place of the stores while they are away', async () => {
    const stores = [pidOf(state.pids.redis), pidOf(state.pids.clickhouse)];
    // Otherwise it would start the stores again.
    process.kill(pidOf(state.pids.supervisor), 'SIGSTOP');
    for (const pid of stores) process.kill(pid, 'SIGKILL');
    await waitFor(() => stores.every((pid) => identifyProcess(pid) === undefined), { what: 'the end of the stores' });
    // The ports are those on which stores of earlier releases listened.
    const ports = await Promise.all(['redis', 'clickhouse'].map((name) => stablePort(`${name} ${up.dataDir}`)));
    const places = [
      ...ports.map((port) => ({ port, host: '127.0.0.1' })),
      ...[...sockets, join(up.dataDir, 'redis.sock')].map((path) => ({ path })),
    ];
    const impostor = spawn(process.execPath, ['-e', IMPOSTOR, JSON.stringify(places)], asNobody);
    let output = '';
    impostor.stdout.on('data', (data) => {
      output += String(data);
    });
    try {
      await waitFor(() => output.split('\n').length > places.length, { what: 'the attempts to listen' });
      expect(output.match(/^listening/gm)).toHaveLength(ports.length);
      expect(output.match(/^EACCES/gm)).toHaveLength(3);
      const before = sockets.map((socket) => failedConnections(up.dataDir, socket));
      await waitFor(
        async () => {
          expect((await fetch(`${state.api}/readyz`)).status).toBe(503);
          const failed = sockets.map((socket, index) => failedConnections(up.dataDir, socket) - (before[index] ?? 0));
          return output.includes('received') || failed.every((count) => count >= 2);
        },
        { what: 'the services to try the stores again', timeoutMs: 60_000 },
      );
      expect(output).not.toContain('received');
    } finally {
      impostor.kill('SIGKILL');
      process.kill(pidOf(state.pids.supervisor), 'SIGCONT');
    }
    await waitFor(async () => (await fetch(`${state.api}/readyz`)).ok, { what: 'the stores', timeoutMs: 60_000 });
  }, 180_000);
});
