import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '@waymark/config';
import { temporaryDirectory } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stackStopMs } from '../../services/standalone/src/stack.js';
import { removeDataDir, UP_MS_MAX } from '../../services/standalone/test/process/run-up.js';
import { ROOT } from './lib/manifests.js';
import { isRoot, runAsUnit, serviceDirectives, startUnit, UNIT_FILE, unitEnvironment } from './lib/systemd-unit.js';

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
/** Of 100; the distribution's own web servers have over 90. */
const EXPOSURE_MAX = 20;
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
      expect(String(analyze('verify'))).toBe('');
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

describe('a stack that runs as the unit', { timeout: 120_000 }, () => {
  let dataDir: string;
  let unit: Awaited<ReturnType<typeof startUnit>>;

  beforeAll(async () => {
    dataDir = temporaryDirectory('waymark-unit-');
    unit = await startUnit(dataDir);
  }, UP_MS_MAX);
  afterAll(async () => {
    await unit.stop();
    removeDataDir(dataDir);
  }, 60_000);

  it.runIf(isRoot)('runs although its user may not write to the code', async () => {
    await expect(runAsUnit(dataDir, 'test', '-w', '.')).rejects.toThrow();
    await expect(runAsUnit(dataDir, 'test', '-w', 'services/standalone/dist/main.js')).rejects.toThrow();
    expect((await fetch(`${unit.state.api}/readyz`)).status).toBe(200);
  });
});
