import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '@waymark/config';
import type { Link } from '@waymark/contract';
import { strangerCannotRun, temporaryDirectory, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stackStopMs } from '../../services/standalone/src/stack.js';
import { removeDataDir, UP_MS_MAX } from '../../services/standalone/test/process/run-up.js';
import { ROOT } from './lib/manifests.js';
import { isRoot, runAsUnit, serviceDirectives, startUnit, UNIT_FILE, unitEnvironment } from './lib/systemd-unit.js';

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
/** Of 100; the distribution's own web servers have over 90. */
const EXPOSURE_MAX = 20;
const reason = strangerCannotRun(ROOT);
const directives = serviceDirectives();
const only = (name: string) => {
  const values = directives.get(name) ?? [];
  expect(values).toHaveLength(1);
  return values[0] ?? '';
};

describe('deploy/systemd/waymark.service', () => {
  it.skipIf(!existsSync(SYSTEMD_ANALYZE))('is accepted by systemd, which also finds it well contained', () => {
    const folder = temporaryDirectory('waymark-unit-');
    const file = join(folder, 'waymark.service');
    try {
      // Node.js may be elsewhere here.
      writeFileSync(file, readFileSync(UNIT_FILE, 'utf8').replace('/usr/bin/node', process.execPath));
      const analyze = (...args: string[]) => execFileSync(SYSTEMD_ANALYZE, [...args, file], { stdio: 'pipe' });
      expect(String(analyze('verify', '--recursive-errors=no'))).toBe('');
      expect(String(analyze('security', '--offline=yes', `--threshold=${EXPOSURE_MAX}`))).toContain('Overall exposure');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('starts what is built, as a user without privileges, and neither installs nor builds', () => {
    const [program, entry = '', ...others] = only('ExecStart').split(' ');
    expect([program, others]).toEqual(['/usr/bin/node', []]);
    expect(existsSync(join(ROOT, entry.replace(/dist\/(.*)\.js$/, 'src/$1.ts')))).toBe(true);
    expect([...directives.keys()].filter((name) => /^Exec/.test(name))).toEqual(['ExecStart']);
    expect(only('User')).toBe('waymark');
    expect([only('CapabilityBoundingSet'), only('NoNewPrivileges')]).toEqual(['', 'yes']);
  });

  it('goes on if the new commit cannot be fetched, by the commands of docs/production.md', () => {
    const page = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
    const [, commands = ''] = /^\| systemd \| `(cd [^`]+systemctl start waymark)` \|/m.exec(page) ?? [];
    const names = ['cd', 'systemctl', 'git', 'npm', 'cp'];
    const run = (failing: string) => {
      const programs = names.map((name) => `${name}() { echo "${name} $1"; [ ${name} != "${failing}" ]; }`);
      return execFileSync('sh', ['-c', `${programs.join('\n')}\n${commands} || true`], { encoding: 'utf8' }).split(
        '\n',
      );
    };
    expect(run('git')).toEqual(['cd /opt/waymark', 'git pull', '']);
    expect(run('').slice(1, 6)).toEqual([
      'git pull',
      'systemctl stop',
      'npm ci',
      'npm run',
      'cp deploy/systemd/waymark.service',
    ]);
    expect(run('').slice(-3)).toEqual(['systemctl daemon-reload', 'systemctl start', '']);
  });

  it('restarts what ends, and gives a stop the time that the product may take', () => {
    const settings = loadSettings(unitEnvironment('/var/lib/waymark'));
    expect(Number(only('TimeoutStopSec')) * 1000).toBeGreaterThan(stackStopMs(settings));
    expect([only('Restart'), only('KillMode')]).toEqual(['always', 'mixed']);
  });

  it('writes to its state directory only, which is where its data are', () => {
    expect(directives.get('Environment')).toContain(`DATA_DIR=/var/lib/${only('StateDirectory')}`);
    expect([only('ProtectSystem'), directives.has('ReadWritePaths')]).toEqual(['strict', false]);
  });
});

/** The drill of docs/runbooks/rotating-keys.md for one machine: its steps in its order. */
describe.skipIf(reason)(
  `a stack that runs as the unit${reason ? ` (skipped: ${reason})` : ''}`,
  { timeout: 240_000 },
  () => {
    const WAYMARK = 'services/cli/bin/waymark.mjs';
    const PASSWORD = 'open sesame';
    let dataDir: string;
    let unit: Awaited<ReturnType<typeof startUnit>>;
    const keyIn = (name: string) => readFileSync(join(dataDir, `${name}.key`), 'utf8').trim();
    const waymark = (...args: string[]) => runAsUnit(dataDir, process.execPath, WAYMARK, ...args);
    const call = (path: string, key: string, init: RequestInit = {}) =>
      fetch(`${unit.state.api}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });

    beforeAll(async () => {
      dataDir = temporaryDirectory('waymark-unit-');
      unit = await startUnit(dataDir);
    }, UP_MS_MAX);
    afterAll(async () => {
      await unit.stop();
      removeDataDir(dataDir);
    });

    it.runIf(isRoot)('runs although its user may not write to the code', async () => {
      await expect(runAsUnit(dataDir, 'test', '-w', '.')).rejects.toThrow();
      await expect(runAsUnit(dataDir, 'test', '-w', 'services/standalone/dist/main.js')).rejects.toThrow();
      expect((await fetch(`${unit.state.api}/readyz`)).status).toBe(200);
    });

    it('gets new keys with one restart, keeps its secrets, and lets the old keys go with another', async () => {
      const apiKey = keyIn('first-api');
      const body = JSON.stringify({
        url: 'https://acme.example/',
        key: 'locked',
        domain: 'localhost',
        password: PASSWORD,
      });
      const { id } = (await (await call('/links', apiKey, { method: 'POST', body })).json()) as Link;
      const password = async () => ((await (await call(`/links/${id}`, apiKey)).json()) as Link).password;
      expect(await password()).toBe(PASSWORD);
      const [instanceKey, adminKey] = [keyIn('instance'), keyIn('admin')];

      await waymark('instance-key', 'rotate');
      await waymark('admin-key', 'rotate');
      const warning = () => waymark('instance-key', 'reseal', '--check').catch((err: { stdout: string }) => err.stdout);
      await waitFor(async () => /still seal with another key.*: http \S+, writer \S+/.test(await warning()), {
        what: 'the first heartbeats, which have the keys of the processes',
      });
      await expect(waymark('instance-key', 'reseal')).rejects.toThrow(/do not accept the current instance key/);
      expect(await password()).toBe(PASSWORD);

      expect(await unit.stop()).toBe(0);
      unit = await startUnit(dataDir);
      expect([keyIn('instance') === instanceKey, keyIn('instance-previous')]).toEqual([false, instanceKey]);
      expect(await password()).toBe(PASSWORD);
      for (const key of [adminKey, keyIn('admin')]) expect((await call('/metrics', key)).status).toBe(200);
      expect((await call('/metrics', apiKey)).status).toBe(401);

      const resealed = await waymark('instance-key', 'reseal');
      expect(resealed).toContain('Values re-sealed: 1.');
      expect(resealed).toContain(`${join(dataDir, 'instance-previous.key')} can be removed`);
      rmSync(join(dataDir, 'instance-previous.key'));
      rmSync(join(dataDir, 'admin-previous.key'));
      expect(await unit.stop()).toBe(0);
      unit = await startUnit(dataDir);
      await waymark('instance-key', 'reseal', '--check');
      expect(await password()).toBe(PASSWORD);
      expect((await call('/metrics', keyIn('admin'))).status).toBe(200);
      expect((await call('/metrics', adminKey)).status).toBe(401);
    });
  },
);
