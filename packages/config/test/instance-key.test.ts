import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureInstanceKey, keyMarks, readInstanceKeys, rotateInstanceKey, SettingsError } from '../src/index.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waymark-key-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** The keys of a process without settings of its own, or with these. */
const keysOf = (settings: Partial<Parameters<typeof readInstanceKeys>[0]> = {}) =>
  readInstanceKeys({
    ...{ instanceKey: undefined, instanceKeyNext: undefined, instanceKeyPrevious: undefined, dataDir },
    ...settings,
  });
const hex = (pair: string) => pair.repeat(32);
const bytes = (pair: string) => Buffer.from(hex(pair), 'hex');

it('creates a key file that only its owner can read, and keeps an existing one', () => {
  const nested = join(dataDir, 'not', 'yet', 'there');
  ensureInstanceKey(nested);
  const { current } = keysOf({ dataDir: nested });
  expect(current).toHaveLength(32);
  expect(statSync(join(nested, 'instance.key')).mode & 0o777).toBe(0o600);
  expect(readdirSync(nested)).toEqual(['instance.key']);
  ensureInstanceKey(nested);
  expect(keysOf({ dataDir: nested })).toEqual({ current, previous: undefined, others: [], deriving: current });
});

it('the environment takes precedence over the file', () => {
  ensureInstanceKey(dataDir);
  expect(keysOf({ instanceKey: 'Ab'.repeat(32) }).current.toString('hex')).toBe('ab'.repeat(32));
});

it('names the missing setting when there is no key', () => {
  expect(() => keysOf()).toThrow(/INSTANCE_KEY: is required/);
});

it('rejects a damaged file instead of creating a second key', () => {
  writeFileSync(join(dataDir, 'instance.key'), 'abc');
  expect(() => ensureInstanceKey(dataDir)).toThrow(SettingsError);
  expect(readFileSync(join(dataDir, 'instance.key'), 'utf8')).toBe('abc');
});

describe('a rotation by settings', () => {
  it('accepts the next key beside the current one, then the previous one; what is derived stays the same in both', () => {
    const before = keysOf({ instanceKey: hex('aa'), instanceKeyNext: hex('bb') });
    expect(before).toEqual({
      current: bytes('aa'),
      previous: undefined,
      others: [bytes('bb')],
      deriving: bytes('aa'),
    });
    const after = keysOf({ instanceKey: hex('bb'), instanceKeyPrevious: hex('aa') });
    expect(after).toEqual({
      current: bytes('bb'),
      previous: bytes('aa'),
      others: [bytes('aa')],
      deriving: bytes('aa'),
    });
  });

  it.each([
    ['INSTANCE_KEY_PREVIOUS', { instanceKeyPrevious: hex('AB') }],
    ['INSTANCE_KEY_NEXT', { instanceKeyNext: hex('AB') }],
    ['INSTANCE_KEY_PREVIOUS', { instanceKeyNext: hex('cd'), instanceKeyPrevious: hex('cd') }],
  ])(
    '%s with a key that is given already is refused with an error that names the setting and hides the key',
    (name, settings) => {
      expect(() => keysOf({ instanceKey: hex('ab'), ...settings })).toThrow(
        new RegExp(` ${name}: must be another key`),
      );
      expect(() => keysOf({ instanceKey: hex('ab'), ...settings })).not.toThrow(/abab|cdcd/i);
    },
  );

  it('the file of the previous key is ignored when the current key is a setting', () => {
    ensureInstanceKey(dataDir);
    rotateInstanceKey(dataDir);
    expect(keysOf({ instanceKey: hex('aa') }).others).toEqual([]);
  });

  it('has a mark for each key, by which processes compare their keys and from which no key can be read', () => {
    const { current, accepted } = keyMarks(keysOf({ instanceKey: hex('bb'), instanceKeyPrevious: hex('aa') }));
    expect(accepted).toEqual([current, keyMarks({ current: bytes('aa'), others: [] }).current]);
    expect(new Set(accepted).size).toBe(2);
    expect(JSON.stringify(accepted)).not.toMatch(/(?:aa|bb){4}/);
  });
});

describe('a rotation of the key file', () => {
  const file = (name: string) => join(dataDir, name);

  it('makes a new key and keeps the current one as the previous one, both for the owner only', () => {
    ensureInstanceKey(dataDir);
    const { current: old } = keysOf();
    rotateInstanceKey(dataDir);
    const { current, others, deriving } = keysOf();
    expect(current.equals(old)).toBe(false);
    expect([others, deriving]).toEqual([[old], old]);
    expect(readdirSync(dataDir).sort()).toEqual(['instance-previous.key', 'instance.key']);
    for (const name of readdirSync(dataDir)) expect(statSync(file(name)).mode & 0o777).toBe(0o600);
  });

  it('is refused while the previous key of an earlier one is there, and where there is no key', () => {
    expect(() => rotateInstanceKey(dataDir)).toThrow(/INSTANCE_KEY: is required/);
    ensureInstanceKey(dataDir);
    rotateInstanceKey(dataDir);
    const keys = keysOf();
    expect(() => rotateInstanceKey(dataDir)).toThrow(/instance-previous\.key: has the key of an earlier rotation/);
    expect(keysOf()).toEqual(keys);
  });

  it('continues after a crash between its two writes; until then a start is refused', () => {
    ensureInstanceKey(dataDir);
    const { current: old } = keysOf();
    copyFileSync(file('instance.key'), file('instance-previous.key'));
    expect(() => keysOf()).toThrow(/instance-previous\.key: must be another key than .*instance\.key/);
    rotateInstanceKey(dataDir);
    expect(keysOf().others).toEqual([old]);
  });
});

it('processes that start at the same time use the same key', async () => {
  const source = fileURLToPath(new URL('../dist/instance-key.js', import.meta.url));
  const settings = `{ dataDir: ${JSON.stringify(dataDir)} }`;
  const script = `import(${JSON.stringify(source)}).then(({ ensureInstanceKey, readInstanceKeys }) => {
    ensureInstanceKey(${JSON.stringify(dataDir)});
    console.log(readInstanceKeys(${settings}).current.toString('hex'));
  })`;
  const runs = await Promise.all(
    Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ['-e', script])),
  );
  expect(new Set(runs.map(({ stdout }) => stdout.trim()))).toEqual(new Set([keysOf().current.toString('hex')]));
  expect(readdirSync(dataDir)).toEqual(['instance.key']);
});
