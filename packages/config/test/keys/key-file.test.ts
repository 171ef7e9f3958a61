import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adminKeyFiles, instanceKeyFiles, readAdminKeys, readInstanceKeys, SettingsError } from '../../src/index.js';

/** The keys of a process without settings of its own: the current one, then the previous one. */
function adminKeysIn(dataDir: string): readonly string[] {
  return readAdminKeys({ adminKey: undefined, adminKeyPrevious: undefined, dataDir });
}
function instanceKeysIn(dataDir: string): readonly string[] {
  const none = { instanceKey: undefined, instanceKeyNext: undefined, instanceKeyPrevious: undefined };
  const { current, others } = readInstanceKeys({ ...none, dataDir });
  return [current, ...others].map((key) => key.toString('hex'));
}

describe.each([
  { files: adminKeyFiles, keysIn: adminKeysIn, name: 'admin', chars: 43 },
  { files: instanceKeyFiles, keysIn: instanceKeysIn, name: 'instance', chars: 64 },
])('the key file of the $name key', ({ files, keysIn, name, chars }) => {
  const [current, previous] = [`${name}.key`, `${name}-previous.key`];
  let parent: string;
  let dataDir: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'waymark-key-'));
    dataDir = join(parent, 'not', 'yet', 'there');
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  function expectPrivateFiles(names: readonly string[]): void {
    expect(readdirSync(dataDir).sort()).toEqual(names);
    for (const one of names) expect(statSync(join(dataDir, one)).mode & 0o777).toBe(0o600);
  }

  it('is created where there is none, for its owner only, and an existing one is kept', () => {
    files.ensure(dataDir);
    const keys = keysIn(dataDir);
    expect(keys.map(({ length }) => length)).toEqual([chars]);
    expectPrivateFiles([current]);
    files.ensure(dataDir);
    expect(keysIn(dataDir)).toEqual(keys);
  });

  it('is refused without a valid key, and neither replaced nor rotated', () => {
    files.ensure(dataDir);
    writeFileSync(join(dataDir, current), 'abc');
    for (const use of [keysIn, files.ensure, files.rotate]) expect(() => use(dataDir)).toThrow(SettingsError);
    expect(readFileSync(join(dataDir, current), 'utf8')).toBe('abc');
    expect(readdirSync(dataDir)).toEqual([current]);
  });

  it('is refused beside a previous one without a valid key', () => {
    files.ensure(dataDir);
    writeFileSync(join(dataDir, previous), 'abc');
    expect(() => keysIn(dataDir)).toThrow(new RegExp(`${previous}: must be `));
  });

  it('a rotation makes a new key and keeps the current one as the previous one, until its file is removed', () => {
    files.ensure(dataDir);
    const [old] = keysIn(dataDir);
    files.rotate(dataDir);
    const keys = keysIn(dataDir);
    expect(keys).toEqual([expect.not.stringMatching(old ?? ''), old]);
    expectPrivateFiles([previous, current].sort());
    rmSync(join(dataDir, previous));
    expect(keysIn(dataDir)).toEqual([keys[0]]);
  });

  it('a rotation is refused while the previous key of an earlier one is there, and where there is no key', () => {
    expect(() => files.rotate(dataDir)).toThrow(new RegExp(`${name}\\.key: there is no key to rotate`));
    files.ensure(dataDir);
    files.rotate(dataDir);
    const keys = keysIn(dataDir);
    expect(() => files.rotate(dataDir)).toThrow(new RegExp(`${previous}: has the key of an earlier rotation`));
    expect(keysIn(dataDir)).toEqual(keys);
  });

  it('a rotation continues after a crash between its two writes; until then a start is refused', () => {
    files.ensure(dataDir);
    const [old] = keysIn(dataDir);
    copyFileSync(join(dataDir, current), join(dataDir, previous));
    expect(() => keysIn(dataDir)).toThrow(new RegExp(`${previous}: must be another key than .*${name}.key`));
    files.rotate(dataDir);
    expect(keysIn(dataDir)[1]).toBe(old);
  });
});

const ROUNDS = 50;
const KEY_FILE_MODULE = new URL('../../dist/keys/key-file.js', import.meta.url).href;
/** Ensures the key of one directory after the other, each at a moment that all racers share, and prints the keys. */
const RACE = `
import { createKeyFiles } from ${JSON.stringify(KEY_FILE_MODULE)};
const directories = JSON.parse(process.argv[1]);
const files = createKeyFiles({ name: 'admin', pattern: /^[0-9a-f]{64}$/, message: '', encoding: 'hex' });
process.once('message', (startsAt) => {
  const keys = directories.map((directory, round) => {
    while (Date.now() < startsAt + 4 * round);
    files.ensure(directory);
    return files.read(directory);
  });
  process.send(keys, () => process.disconnect());
});
process.send('ready');
`;

/** A process that races for the first key. @returns starts it at that time, and resolves with the keys that it has used */
async function startRacer(directories: readonly string[]): Promise<(startsAt: number) => Promise<string[]>> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', RACE, JSON.stringify(directories)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return async (startsAt) => {
    const [answered] = [once(child, 'message'), child.send(startsAt)];
    const ended = once(child, 'exit');
    const [keys] = await answered;
    expect((await ended)[0]).toBe(0);
    return keys;
  };
}

it('a new key is the same for processes that start at the same time', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'waymark-key-'));
  const directories = Array.from({ length: ROUNDS }, (_, round) => join(parent, String(round), 'data'));
  const racers = await Promise.all([startRacer(directories), startRacer(directories)]);
  const startsAt = Date.now() + 100;
  const [one, other] = await Promise.all(racers.map((race) => race(startsAt)));
  expect(one).toEqual(other);
  expect(one).toEqual(directories.map((directory) => readFileSync(join(directory, 'admin.key'), 'utf8').trim()));
  expect(new Set(directories.flatMap((directory) => readdirSync(directory)))).toEqual(new Set(['admin.key']));
  rmSync(parent, { recursive: true });
});
