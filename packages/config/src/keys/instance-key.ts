import { createHmac } from 'node:crypto';
import type { Settings } from '../settings.js';
import { SettingsError } from '../settings-error.js';
import { HEX_KEY_MESSAGE, HEX_KEY_PATTERN } from '../value-types.js';
import { createKeyFiles } from './key-file.js';

const MARK_CHARS = 16;

/** The files of the instance key. Without that key, nothing sealed can be read. */
export const instanceKeyFiles = createKeyFiles({
  name: 'instance',
  pattern: HEX_KEY_PATTERN,
  message: HEX_KEY_MESSAGE,
  encoding: 'hex',
});

/** The keys of the installation, 32 bytes each. Outside of a rotation there is only the current one. */
export interface InstanceKeys {
  /** Seals link passwords, webhook secrets, and the credentials of scheduled exports and imports. */
  readonly current: Buffer;
  /** The key that was current before the rotation; undefined outside of one. */
  readonly previous: Buffer | undefined;
  /** Keys that only open what other processes or earlier ones have sealed: the previous one, and the next one while processes restart. */
  readonly others: readonly Buffer[];
  /**
   * The key from which pseudonyms of visitors and keys of rate limits are derived. It is the previous key while there is one, so that
   * processes derive the same values while they are restarted one by one.
   */
  readonly deriving: Buffer;
}

type KeySettings = Pick<Settings, 'instanceKey' | 'instanceKeyNext' | 'instanceKeyPrevious' | 'dataDir'>;

/** A key and the setting or file that it comes from. */
interface NamedKey {
  readonly origin: string;
  readonly key: Buffer;
}

/** @param digits of a setting or a key file, which have been checked when they were read */
function namedKey(digits: string | undefined, origin: string): NamedKey | undefined {
  return digits === undefined ? undefined : { origin, key: Buffer.from(digits, 'hex') };
}

function currentKey({ instanceKey, dataDir }: KeySettings): NamedKey {
  const file = instanceKeyFiles.fileIn(dataDir);
  const current = namedKey(instanceKey, 'INSTANCE_KEY') ?? namedKey(instanceKeyFiles.read(dataDir), file);
  if (current !== undefined) return current;
  throw new SettingsError([`INSTANCE_KEY: is required, as there is no ${file}`]);
}

/** The file of the previous key is read only if the current key is in a file too: keys from settings and from files are not mixed. */
function previousKey({ instanceKey, instanceKeyPrevious, dataDir }: KeySettings): NamedKey | undefined {
  const given = namedKey(instanceKeyPrevious, 'INSTANCE_KEY_PREVIOUS');
  if (given !== undefined || instanceKey !== undefined) return given;
  return namedKey(instanceKeyFiles.readPrevious(dataDir), instanceKeyFiles.previousFileIn(dataDir));
}

/** @throws SettingsError naming the setting or file of a key that is given twice */
function checkDistinct(keys: readonly NamedKey[]): void {
  for (const [index, { origin, key }] of keys.entries()) {
    const same = keys.slice(0, index).find((earlier) => earlier.key.equals(key));
    if (same !== undefined) throw new SettingsError([`${origin}: must be another key than ${same.origin}`]);
  }
}

/**
 * Reads the keys of the installation: INSTANCE_KEY, INSTANCE_KEY_NEXT and INSTANCE_KEY_PREVIOUS, else the files in DATA_DIR
 * (docs/runbooks/rotating-keys.md).
 *
 * @throws SettingsError when there is no current key, or two keys are the same
 */
export function readInstanceKeys(settings: KeySettings): InstanceKeys {
  const current = currentKey(settings);
  const next = namedKey(settings.instanceKeyNext, 'INSTANCE_KEY_NEXT');
  const previous = previousKey(settings);
  const others = [next, previous].filter((one) => one !== undefined);
  checkDistinct([current, ...others]);
  return {
    current: current.key,
    previous: previous?.key,
    others: others.map(({ key }) => key),
    deriving: (previous ?? current).key,
  };
}

/** Marks of keys: fingerprints by which processes compare their keys. No key can be computed from its mark. */
export interface KeyMarks {
  /** The mark of the key that seals. */
  readonly current: string;
  /** The marks of all keys that open what is sealed. */
  readonly accepted: readonly string[];
}

/** The marks of this process's keys, which it publishes for the other processes. */
export function keyMarks({ current, others }: Pick<InstanceKeys, 'current' | 'others'>): KeyMarks {
  const markOf = (key: Buffer) => createHmac('sha256', key).update('mark').digest('base64url').slice(0, MARK_CHARS);
  return { current: markOf(current), accepted: [current, ...others].map(markOf) };
}
