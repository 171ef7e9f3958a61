import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyFile } from '@waymark/config';

/** The path of the file for the API key of the first workspace. */
function firstKeyFile(dataDir: string): string {
  return join(dataDir, 'first-api.key');
}

/** The file with the API key of the first workspace; undefined when there is none, because the key was shown on a terminal or taken away. */
export function findFirstKey(dataDir: string): string | undefined {
  const file = firstKeyFile(dataDir);
  return existsSync(file) ? file : undefined;
}

/**
 * Writes the API key of the workspace that this start has created to a file that only its owner can read, before any service starts: a key is
 * shown once, and the start may fail before that. Replaces the file of an earlier installation in the folder.
 */
export function keepFirstKey(dataDir: string, apiKey: string): void {
  removeFirstKey(dataDir);
  createKeyFile(firstKeyFile(dataDir), apiKey);
}

/** Removes the file, when the key has been shown on a terminal. */
export function removeFirstKey(dataDir: string): void {
  rmSync(firstKeyFile(dataDir), { force: true });
}
