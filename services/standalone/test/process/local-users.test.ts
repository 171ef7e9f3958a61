import { execFileSync } from 'node:child_process';
import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { RunState } from '@waymark/config';
import { waitFor } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeUp, runUp, temporaryDataDir, UP_MS_MAX, type Up } from './run-up.js';

/** Another user of the machine gets no more from a running stack than its public ports offer to every client. */

const NOBODY = 65_534;
/** Only root may start a process of another user. */
const isRoot = process.getuid?.() === 0;

/** Runs as another user: tries to read files and to use the stores, and prints the results. */
const STRANGER = `
const { accessSync, constants, readFileSync, readdirSync, writeFileSync } = require('node:fs');
const { connect } = require('node:net');
const { execFileSync } = require('node:child_process');
const { files, folders, redisPort, clickhousePort, pids } = JSON.parse(process.argv[1]);
const attempt = (work) => { try { return String(work()); } catch (err) { return err.code ?? err.message; } };
const talk = (port, text) => new Promise((resolve) => {
  let answer = '';
  const socket = connect(port, '127.0.0.1', () => socket.end(text));
  socket.on('data', (data) => { answer += data; });
  socket.on('close', () => resolve(answer));
  socket.on('error', () => undefined);
});
const http = (method, path, body = '') =>
  talk(clickhousePort, method + ' ' + path + ' HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\nContent-Length: ' + body.length + '\\r\\n\\r\\n' + body);
(async () => {
  console.log(JSON.stringify({
    uid: process.getuid(),
    files: files.map((file) => attempt(() => readFileSync(file, 'utf8'))),
    folders: folders.map((folder) => attempt(() => readdirSync(folder))),
    written: folders.map((folder) => attempt(() => writeFileSync(folder + '/stranger', ''))),
    environments: pids.map((pid) => attempt(() => readFileSync('/proc/' + pid + '/environ', 'utf8'))),
    commandLines: attempt(() => execFileSync('ps', ['-ww', '-A', '-o', 'args='], { encoding: 'utf8', maxBuffer: 1e8 })),
    redis: await Promise.all(['PING', 'INFO', 'KEYS *', 'SET forged 1', 'CONFIG GET *', 'MONITOR', 'AUTH wrong', 'HELLO 3'].map((command) => talk(redisPort, command + '\\r\\n'))),
    clickhouse: await Promise.all([
      http('GET', '/'),
      http('GET', '/ping'),
      http('GET', '/?query=SELECT%201'),
      http('POST', '/', 'SELECT 1'),
      http('POST', '/', "SELECT * FROM file('" + files[0] + "')"),
    ]),
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
  readonly redis: string[];
  readonly clickhouse: string[];
}

describe.skipIf(!isRoot)('another user of the machine (skipped: only root can start a process of another user)', () => {
  let up: Up;
  let state: RunState;
  let attempts: Attempts;
  let secrets: string[];

  beforeAll(async () => {
    up = runUp(temporaryDataDir());
    state = await up.ready();
    await waitFor(() => up.output().includes('Ctrl-C'), { what: 'its last line' });
    // Like a DATA_DIR that a package or a container has created with open permissions.
    chmodSync(up.dataDir, 0o755);
    const inside = (name: string) => join(up.dataDir, name);
    const task = {
      files: ['run/standalone.json', 'run/supervisor.lock', 'admin.key', 'instance.key', 'clickhouse/access.xml'].map(
        inside,
      ),
      folders: ['run', 'clickhouse', 'redis', 'logs'].map(inside),
      redisPort: Number(new URL(state.redis).port),
      clickhousePort: Number(new URL(state.clickhouse).port),
      pids: Object.values(state.pids),
    };
    secrets = [new URL(state.redis).password, new URL(state.clickhouse).password];
    const output = execFileSync(process.execPath, ['-e', STRANGER, JSON.stringify(task)], {
      cwd: '/',
      uid: NOBODY,
      gid: NOBODY,
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

  it('is rejected by Redis for every command without a password', () => {
    expect(attempts.redis).toHaveLength(8);
    for (const answer of attempts.redis) expect(answer).toMatch(/^-(?:NOAUTH|WRONGPASS) [^\r]*\r\n$/);
  });

  it('gets 401 from ClickHouse for every request', () => {
    expect(attempts.clickhouse).toHaveLength(5);
    for (const answer of attempts.clickhouse) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });

  it(
    'finds that the passwords change at every start',
    async () => {
      expect(await up.stop()).toBe(0);
      const again = runUp(up.dataDir);
      try {
        const next = await again.ready();
        for (const name of ['redis', 'clickhouse'] as const) {
          expect(new URL(next[name]).password).not.toBe(new URL(state[name]).password);
        }
        const redis = new Redis(next.redis);
        expect(await redis.ping()).toBe('PONG');
        redis.disconnect();
      } finally {
        await again.stop();
      }
    },
    UP_MS_MAX,
  );
});
