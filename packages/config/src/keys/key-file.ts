import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { SettingsError } from '../settings-error.js';

const KEY_BYTES = 32;

/** The content of a key file; undefined when the file does not exist. */
function readKeyFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Writes the key to a draft beside `file`, readable only by its owner. @param place links or renames the draft to `file` */
function placeKeyFile(file: string, key: string, place: (draft: string) => void): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true });
    place(draft);
    syncDirectory(dirname(file));
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Creates a key file, readable only by its owner, unless it exists. The write is atomic: a crash leaves no partial key, and when two
 * processes start at once, one creates the file and both use it.
 */
export function createKeyFile(file: string, key: string): void {
  try {
    placeKeyFile(file, key, (draft) => linkSync(draft, file));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'EEXIST') throw err;
  }
}

/** What distinguishes one kind of key from others. */
export interface KeyRules {
  /** The beginning of the names of the files. */
  readonly name: string;
  readonly pattern: RegExp;
  /** The error for a key that does not match the pattern. */
  readonly message: string;
  /** How the random bytes of a new key are written. */
  readonly encoding: 'base64url' | 'hex';
}

/**
 * The files in `dataDir` that hold a key when its setting is not given: the current key and, during a rotation, the previous one. All
 * functions throw a SettingsError for a file with an invalid key.
 */
export function createKeyFiles({ name, pattern, message, encoding }: KeyRules) {
  const fileIn = (dataDir: string) => join(dataDir, `${name}.key`);
  const previousFileIn = (dataDir: string) => join(dataDir, `${name}-previous.key`);
  const newKey = () => randomBytes(KEY_BYTES).toString(encoding);

  /** The key in a file; undefined when the file does not exist. */
  function keyIn(file: string): string | undefined {
    const key = readKeyFile(file);
    if (key !== undefined && !pattern.test(key)) throw new SettingsError([`${file}: ${message}`]);
    return key;
  }

  return {
    name,
    fileIn,
    previousFileIn,
    read: (dataDir: string) => keyIn(fileIn(dataDir)),
    readPrevious: (dataDir: string) => keyIn(previousFileIn(dataDir)),

    /** Creates the current key on the first start; later starts keep it. */
    ensure(dataDir: string): void {
      const file = fileIn(dataDir);
      if (keyIn(file) === undefined) createKeyFile(file, newKey());
    },

    /**
     * Creates a new key; the current one becomes the previous one. After a crash in between, both files have the current key, and another
     * call completes the rotation.
     *
     * @throws SettingsError when there is no key, or the previous key of an earlier rotation has not been removed
     */
    rotate(dataDir: string): void {
      const [file, previousFile] = [fileIn(dataDir), previousFileIn(dataDir)];
      const current = keyIn(file);
      if (current === undefined) throw new SettingsError([`${file}: there is no key to rotate`]);
      createKeyFile(previousFile, current);
      if (readKeyFile(previousFile) !== current) {
        throw new SettingsError([
          `${previousFile}: has the key of an earlier rotation: complete that rotation, then remove the file`,
        ]);
      }
      placeKeyFile(file, newKey(), (draft) => renameSync(draft, file));
    },
  };
}
export type KeyFiles = ReturnType<typeof createKeyFiles>;
