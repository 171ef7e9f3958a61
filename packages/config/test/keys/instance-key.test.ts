import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { instanceKeyFiles, keyMarks, readInstanceKeys } from '../../src/index.js';

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

it('the environment takes precedence over the file', () => {
  instanceKeyFiles.ensure(dataDir);
  expect(keysOf({ instanceKey: 'Ab'.repeat(32) }).current.toString('hex')).toBe('ab'.repeat(32));
});

it('names the missing setting when there is no key', () => {
  expect(() => keysOf()).toThrow(/INSTANCE_KEY: is required/);
});

describe('a rotation', () => {
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

  it('of the key file has the same effect; its previous key is ignored when the current key is a setting', () => {
    instanceKeyFiles.ensure(dataDir);
    const old = keysOf();
    expect(old).toEqual({ current: old.current, previous: undefined, others: [], deriving: old.current });
    instanceKeyFiles.rotate(dataDir);
    expect(keysOf()).toMatchObject({ previous: old.current, others: [old.current], deriving: old.current });
    expect(keysOf({ instanceKey: hex('aa') }).others).toEqual([]);
  });

  it('has a mark for each key, by which processes compare their keys and from which no key can be read', () => {
    const { current, accepted } = keyMarks(keysOf({ instanceKey: hex('bb'), instanceKeyPrevious: hex('aa') }));
    expect(accepted).toEqual([current, keyMarks({ current: bytes('aa'), others: [] }).current]);
    expect(new Set(accepted).size).toBe(2);
    expect(JSON.stringify(accepted)).not.toMatch(/(?:aa|bb){4}/);
  });
});
