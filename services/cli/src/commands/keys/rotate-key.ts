import { adminKeyFiles, instanceKeyFiles, type KeyFiles } from '@waymark/config';
import { CommandError } from '../../command-error.js';
import type { CommandResult } from '../../output.js';
import { findTarget } from '../../stores.js';

/** A kind of key that `rotate` can replace. */
interface KeyKind {
  readonly files: KeyFiles;
  readonly field: 'adminKey' | 'instanceKey';
  readonly setting: string;
  /** What the operator does next. */
  readonly nextStep: string;
}

/** Makes a new key in DATA_DIR and keeps the current one as the previous one. */
function rotate({ files, field, setting, nextStep }: KeyKind): CommandResult {
  const { dataDir, [field]: given } = findTarget().settings;
  if (given !== undefined) {
    throw new CommandError(
      `${setting} is set, and this command changes only key files: see docs/runbooks/rotating-keys.md`,
    );
  }
  files.rotate(dataDir);
  const [current, previous] = [files.fileIn(dataDir), files.previousFileIn(dataDir)];
  const made = `A new ${files.name} key is in ${current}; the previous one is in ${previous}.`;
  return { data: { current, previous }, lines: [made, nextStep] };
}

/** `waymark admin-key rotate` */
export async function rotateAdminKey(): Promise<CommandResult> {
  const nextStep =
    'Restart Waymark: it then accepts both. Where the previous one is no longer used, remove its file and restart again.';
  return rotate({ files: adminKeyFiles, field: 'adminKey', setting: 'ADMIN_KEY', nextStep });
}

/** `waymark instance-key rotate` */
export async function rotateInstanceKey(): Promise<CommandResult> {
  const nextStep = 'Restart Waymark, then run: npx waymark instance-key reseal';
  return rotate({ files: instanceKeyFiles, field: 'instanceKey', setting: 'INSTANCE_KEY', nextStep });
}
