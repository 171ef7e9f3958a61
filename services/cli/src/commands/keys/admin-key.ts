import { adminKeyFile, previousAdminKeyFile, rotateAdminKey } from '@waymark/config';
import { CommandError } from '../../command-error.js';
import type { CommandResult } from '../../output.js';
import { findTarget } from '../../stores.js';

/** Makes a new admin key in DATA_DIR and keeps the current one as the previous one. */
export async function rotateKey(): Promise<CommandResult> {
  const { dataDir, adminKey } = findTarget().settings;
  if (adminKey !== undefined) {
    throw new CommandError(
      'ADMIN_KEY is set, and this command changes only key files: see docs/runbooks/rotating-keys.md',
    );
  }
  rotateAdminKey(dataDir);
  const [current, previous] = [adminKeyFile(dataDir), previousAdminKeyFile(dataDir)];
  return {
    data: { current, previous },
    lines: [
      `A new admin key is in ${current}; the previous one is in ${previous}.`,
      'Restart Waymark: it then accepts both. Where the previous one is no longer used, remove its file and restart again.',
    ],
  };
}
