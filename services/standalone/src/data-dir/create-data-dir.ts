import { accessSync, constants, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = 0;

/** This user's number; undefined where files have no such owners. */
const userOfProcess = () => process.getuid?.();

/**
 * Finds what another user owns, who could have put keys or data of their own there. Root can do that anyway, and owns volumes.
 *
 * @returns the path of DATA_DIR, or of the first file in it, that such a user owns
 */
function foreignPath(dataDir: string): { readonly path: string; readonly owner: number } | undefined {
  const user = userOfProcess();
  for (const path of [dataDir, ...readdirSync(dataDir).map((name) => join(dataDir, name))]) {
    const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (user !== undefined && owner !== undefined && owner !== user && owner !== ROOT) return { path, owner };
  }
  return undefined;
}

/**
 * Creates DATA_DIR, readable by its owner alone, unless it exists.
 *
 * @throws Error that names the setting, if the directory cannot be created, this user cannot write to it, or another user owns it or what is
 *   in it
 */
export function createDataDir(dataDir: string): void {
  const user = userOfProcess();
  let foreign: ReturnType<typeof foreignPath>;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    foreign = foreignPath(dataDir);
  } catch (err) {
    const { code, message } = err as NodeJS.ErrnoException;
    const byUser = user === undefined ? '' : ` by user ${user}`;
    throw new Error(
      `DATA_DIR ${dataDir} cannot be used${byUser} (${code ?? message}): change its owner, or set DATA_DIR to another directory`,
    );
  }
  if (foreign === undefined) return;
  throw new Error(
    `DATA_DIR ${dataDir}: user ${foreign.owner} owns ${foreign.path}, and this is user ${user}. Start Waymark as that user; or, if you trust what is there, make it yours: chown -R ${user} ${dataDir}`,
  );
}
