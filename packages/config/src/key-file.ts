import { randomUUID } from 'node:crypto';
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
import { dirname } from 'node:path';
import { SettingsError } from './settings-error.js';

/** The content of a key file; undefined when the file does not exist. */
export function readKeyFile(file: string): string | undefined {
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

/** Arguments of {@link rotateKeyFile}. */
export interface KeyRotation {
  /** The file of the current key. */
  readonly file: string;
  /** The file that the current key is copied to. */
  readonly previousFile: string;
  /** The new key. */
  readonly key: string;
}

/**
 * Copies the current key to `previousFile` and puts the new one into `file`. After a crash in between, both files have the current key,
 * and another call completes the rotation.
 *
 * @throws SettingsError when there is no key, or `previousFile` holds the previous key of an earlier rotation
 */
export function rotateKeyFile({ file, previousFile, key }: KeyRotation): void {
  const current = readKeyFile(file);
  if (current === undefined) throw new SettingsError([`${file}: there is no key to rotate`]);
  createKeyFile(previousFile, current);
  if (readKeyFile(previousFile) !== current) {
    throw new SettingsError([
      `${previousFile}: has the key of an earlier rotation: finish that one, then remove the file`,
    ]);
  }
  placeKeyFile(file, key, (draft) => renameSync(draft, file));
}
