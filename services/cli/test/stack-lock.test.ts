import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, writeRunState } from '@waymark/config';
import { runAsStranger, temporaryDirectory } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { rejectKilledStack, rejectStartingStack } from '../src/stack-lock.js';
import { findTarget } from '../src/stores.js';

const IS_ALIVE = new URL('../dist/is-alive.js', import.meta.url);

let dataDir: string;

beforeEach(() => {
  dataDir = temporaryDirectory('waymark-stack-lock-');
  mkdirSync(join(dataDir, 'run'));
  vi.stubEnv('DATA_DIR', dataDir);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dataDir, { recursive: true });
});

const writeLock = (text: string) => writeFileSync(join(dataDir, 'run', 'supervisor.lock'), text);
/** Writes what a stack leaves in DATA_DIR whose supervisor was this process, or has started at another time with its pid. */
function leave(started: string | undefined): void {
  const pid = process.pid;
  writeLock(JSON.stringify({ supervisor: { pid, started } }));
  const pids = { supervisor: pid, http: pid, writer: pid, redis: pid, clickhouse: pid };
  const url = 'http://127.0.0.1';
  writeRunState(dataDir, { api: url, links: url, redis: 'redis://127.0.0.1', clickhouse: url, pids });
}

it('a stack that is starting is not overlooked', () => {
  writeLock(JSON.stringify({ supervisor: { pid: process.ppid } }));
  expect(() => rejectStartingStack(dataDir)).toThrow(
    `a stack on ${dataDir} is starting or stopping (process ${process.ppid}): try again`,
  );
});

it('a stack that runs is found by the pid and the start time of its supervisor', () => {
  leave(identifyProcess(process.pid)?.started);
  expect(findTarget().stack).toMatchObject({ pids: { supervisor: process.pid } });
});

it('after a reboot, a process that has the pid of the supervisor is not taken for it', () => {
  leave('a time before the reboot');
  expect(findTarget().stack).toBeUndefined();
  expect(() => rejectStartingStack(dataDir)).not.toThrow();
  expect(() => rejectKilledStack(dataDir)).toThrow('was killed');
});

it('a lock without content is that of a killed stack', () => {
  writeLock('');
  expect(findTarget().stack).toBeUndefined();
  expect(() => rejectStartingStack(dataDir)).not.toThrow();
  expect(() => rejectKilledStack(dataDir)).toThrow('was killed');
});

it('a process of another user is not overlooked', () => {
  const script = `import { isAlive } from './is-alive.js'; console.log(isAlive(1));`;
  expect(runAsStranger([IS_ALIVE], script)).toBe('true\n');
});
