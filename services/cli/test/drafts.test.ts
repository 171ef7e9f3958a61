import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { runAsStranger, strangerCannotRun, temporaryDirectory } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { draftOf, soleDraftOf } from '../src/drafts.js';

const HOUR_S = 3600;
const MODULES = ['drafts', 'command-error', 'is-alive', 'output'].map(
  (name) => new URL(`../dist/${name}.js`, import.meta.url),
);

const reason = strangerCannotRun();

let directory: string;
let ended: number;

beforeEach(() => {
  directory = temporaryDirectory('waymark-drafts-');
  ended = spawnSync('true').pid;
});
afterEach(() => rmSync(directory, { recursive: true }));

const draftName = (path: string, pid: number, host = hostname()) => `${path}.${pid}-0123abcd@${host}.part`;

/** Makes a draft of a backup that has not changed for some seconds. */
function aDraft(name: string, ageS: number): string {
  mkdirSync(join(directory, name, 'clickhouse'), { recursive: true });
  const atS = Date.now() / 1000 - ageS;
  for (const path of [join(directory, name, 'clickhouse'), join(directory, name)]) utimesSync(path, atS, atS);
  return name;
}

it('what killed processes have left is removed, for any path of the directory, also if one had the id of this process', () => {
  aDraft(draftName('monday', ended), HOUR_S);
  aDraft(draftName('tuesday', process.pid), HOUR_S);
  writeFileSync(join(directory, draftName('events.csv', ended)), '');
  utimesSync(join(directory, draftName('events.csv', ended)), 0, 0);
  draftOf(join(directory, 'wednesday'));
  expect(readdirSync(directory)).toEqual([]);
});

it('drafts of running processes, of this process and of other hosts, and other files stay', () => {
  const mine = draftOf(join(directory, 'monday')).slice(directory.length + 1);
  const names = [
    mine,
    draftName('monday', process.ppid),
    draftName('monday', ended, `other-${hostname()}`),
    ...['monday', `monday.partial-${ended}`, `monday.${ended}.part`],
  ];
  for (const name of names) aDraft(name, 2 * HOUR_S);
  draftOf(join(directory, 'monday'));
  expect(readdirSync(directory).sort()).toEqual(names.sort());
});

it('drafts that changed within the last hour stay, because another container may fill them', () => {
  const name = aDraft(draftName('monday', ended), 2 * HOUR_S);
  mkdirSync(join(directory, name, 'clickhouse', 'part'));
  utimesSync(join(directory, name), 0, 0);
  draftOf(join(directory, 'monday'));
  expect(readdirSync(directory)).toEqual([name]);
});

it('what a killed process has left of a path that only one process may write is removed after ten minutes, and nothing else', () => {
  const kept = [draftName('restoring', process.ppid), draftName('restoring', ended, `other-${hostname()}`)];
  const others = [draftName('restoring2', ended), draftName('monday', ended), 'restoring'];
  for (const name of [...kept, ...others, draftName('restoring', ended)]) aDraft(name, 660);
  soleDraftOf(join(directory, 'restoring'));
  expect(readdirSync(directory).sort()).toEqual([...kept, ...others].sort());
  const recent = aDraft(draftName('restoring', ended), 60);
  expect(() => soleDraftOf(join(directory, 'restoring'))).toThrow(`${recent} has changed a short time ago`);
  expect(readdirSync(directory)).toContain(recent);
});

it('a draft with the id of this process is never the one that this process gets', () => {
  const name = aDraft(draftName('monday', process.pid), 0);
  expect(draftOf(join(directory, 'monday'))).toMatch(new RegExp(`^${directory}/monday\\.${process.pid}-[0-9a-f]{8}@`));
  expect(draftOf(join(directory, 'monday'))).not.toBe(join(directory, name));
});

it.skipIf(reason)(
  `a draft that cannot be removed is named, and the command goes on${reason ? ` (skipped: ${reason})` : ''}`,
  () => {
    const name = aDraft(draftName('monday', ended), HOUR_S);
    chmodSync(join(directory, name), 0o755);
    chmodSync(directory, 0o555);
    const path = join(directory, 'tuesday');
    const script = `import { draftOf } from './drafts.js'; console.log(draftOf(${JSON.stringify(path)}));`;
    try {
      const [warning, draft] = runAsStranger(MODULES, script).split('\n');
      expect(warning).toContain(
        `waymark: a killed command has left ${join(directory, name)}, which cannot be removed: `,
      );
      expect(warning).toMatch(/EACCES|EPERM/);
      expect(draft).toContain(`${path}.`);
    } finally {
      chmodSync(directory, 0o755);
    }
  },
);
