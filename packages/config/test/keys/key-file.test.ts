import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
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

  it('is the same for processes that start at the same time', async () => {
    const source = fileURLToPath(new URL(`../../dist/keys/${name}-key.js`, import.meta.url));
    const script = `import(${JSON.stringify(source)}).then(({ ${name}KeyFiles: files }) => {
      files.ensure(${JSON.stringify(dataDir)});
      console.log(files.read(${JSON.stringify(dataDir)}));
    })`;
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ['-e', script])),
    );
    expect(new Set(runs.map(({ stdout }) => stdout.trim()))).toEqual(new Set(keysIn(dataDir)));
    expect(readdirSync(dataDir)).toEqual([current]);
  });
});
