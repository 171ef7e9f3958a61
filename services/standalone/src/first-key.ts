import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyFile } from '@waymark/config';

/** Where the API key of the first workspace is kept when it is not shown on a terminal. */
export function firstKeyFile(dataDir: string): string {
  return join(dataDir, 'first-api.key');
}

/**
 * Keeps the key of the workspace that this start has made, readable for the owner only: what is no terminal is a log, which
 * others read. Whatever was kept for an earlier installation in the folder is replaced.
 */
export function keepFirstKey(dataDir: string, apiKey: string): void {
  const file = firstKeyFile(dataDir);
  rmSync(file, { force: true });
  createKeyFile(file, apiKey);
}
