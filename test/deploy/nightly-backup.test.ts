import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWith } from '@waymark/config';
import { temporaryDirectory } from '@waymark/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './lib/manifests.js';

/** The units of docs/production.md that make a backup every night. */

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
const page = readFileSync(join(ROOT, 'docs/production.md'), 'utf8');
const [, commands = ''] =
  /```sh\n(install -d [^\n]* \/backups\/nightly\ncat >\/etc\/systemd\/system\/[\s\S]*?)```/.exec(page) ?? [];

/** Runs the printed commands in a directory of its own. @returns that directory, with the units in `units` */
function writeUnits(): string {
  const directory = temporaryDirectory('waymark-nightly-');
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [units, backups] = [join(directory, 'units'), join(directory, 'backups')];
  mkdirSync(units);
  const here = commands
    .replaceAll('/etc/systemd/system', units)
    .replaceAll('/backups', backups)
    .replaceAll('/usr/bin/node', process.execPath);
  execFileSync('sh', ['-ec', `install() { mkdir -p "${backups}/nightly"; }\nsystemctl() { :; }\n${here}`]);
  return directory;
}

it.skipIf(!existsSync(SYSTEMD_ANALYZE))('systemd accepts the service and its timer', () => {
  const units = join(writeUnits(), 'units');
  const files = readdirSync(units).sort();
  expect(files).toEqual(['waymark-backup.service', 'waymark-backup.timer']);
  const args = ['verify', '--recursive-errors=no', ...files.map((file) => join(units, file))];
  expect(String(execFileSync(SYSTEMD_ANALYZE, args, { stdio: 'pipe' }))).toBe('');
});

it('the printed commands make a backup named by its time, and remove only their own older than fourteen days', () => {
  const directory = writeUnits();
  const [backups, dataDir] = [join(directory, 'backups', 'nightly'), join(directory, 'data')];
  const own = join(directory, 'backups', '2026-01-01');
  mkdirSync(join(dataDir, 'redis'), { recursive: true });
  writeFileSync(join(dataDir, 'redis', 'file'), 'data');
  writeFileSync(join(dataDir, 'instance.key'), '07'.repeat(32));
  for (const [path, days] of [
    [join(backups, '2026-01-01T0200'), 14.1],
    [join(backups, '2026-01-02T0200'), 13.9],
    [join(backups, 'lost+found'), 30],
    [own, 30],
  ] as const) {
    const madeAt = Date.now() / 1000 - days * 86_400;
    mkdirSync(path);
    utimesSync(path, madeAt, madeAt);
  }
  const service = readFileSync(join(directory, 'units', 'waymark-backup.service'), 'utf8');
  const lines = [...service.matchAll(/^ExecStart=(.*)$/gm)].map(([, line = '']) => line);
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    // As systemd reads it.
    const command = line.replaceAll('$$', '$').replaceAll('%%', '%');
    execFileSync('sh', ['-c', command], { cwd: ROOT, env: environmentWith({ DATA_DIR: dataDir }), stdio: 'pipe' });
  }
  const [kept, made = '', ...others] = readdirSync(backups).sort();
  expect([kept, others]).toEqual(['2026-01-02T0200', ['lost+found']]);
  expect(existsSync(own)).toBe(true);
  expect(made).toMatch(/^\d{4}-\d\d-\d\dT\d{4}$/);
  expect(readFileSync(join(backups, made, 'redis', 'file'), 'utf8')).toBe('data');
});
