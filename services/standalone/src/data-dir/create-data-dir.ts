import { accessSync, constants, mkdirSync } from 'node:fs';

/**
 * Creates DATA_DIR, readable by its owner alone, unless it exists.
 *
 * @throws Error that names the setting, if the directory cannot be created or this user cannot write to it
 */
export function createDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    const user = process.getuid?.() === undefined ? '' : ` by user ${process.getuid()}`;
    throw new Error(
      `DATA_DIR ${dataDir} cannot be used${user} (${code ?? message}): change its owner, or set DATA_DIR to another directory`,
    );
  }
}
