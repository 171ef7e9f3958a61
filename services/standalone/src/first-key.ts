import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyFile } from '@waymark/config';

/** The path of the file for the API key of the first workspace, for starts without a terminal. */
export function firstKeyFile(dataDir: string): string {
  return join(dataDir, 'first-api.key');
}

/**
 * Writes the API key of the workspace that this start has created to a file that only its owner can read. Without a terminal the
 * output goes to a log, which others may read. Replaces the file of an earlier installation in the folder.
 */
export function keepFirstKey(dataDir: string, apiKey: string): void {
  const file = firstKeyFile(dataDir);
  rmSync(file, { force: true });
  createKeyFile(file, apiKey);
}
