import { instanceKeyFiles, keyMarks, readInstanceKeys, type Settings } from '@waymark/config';
import { CommandError } from '../command-error.js';

/**
 * The marks of the instance keys with which the values in `directory` are sealed, DATA_DIR or a backup: of those in the settings, or else
 * in its files. Undefined when neither has a key.
 */
export function instanceKeyMarks(settings: Settings, directory: string): readonly string[] | undefined {
  if (settings.instanceKey === undefined && instanceKeyFiles.read(directory) === undefined) return undefined;
  const { current, previous } = readInstanceKeys({ ...settings, dataDir: directory });
  return keyMarks({ current, others: previous === undefined ? [] : [previous] }).accepted;
}

/**
 * Checks that the values in a backup can be opened after its restore. Otherwise the first start would make another key, and link passwords,
 * webhook secrets and credentials could not be read.
 *
 * @param marks of the keys at the time of the backup; undefined when it has none, as those of earlier releases
 * @throws CommandError when there is no key, or another one
 */
export function checkInstanceKey(settings: Settings, backup: string, marks: readonly string[] | undefined): void {
  const found = instanceKeyMarks(settings, backup);
  const goOn = 'or use --without-instance-key, after which what it has sealed cannot be read';
  if (found === undefined) throw new CommandError(`${backup} has no instance.key: set INSTANCE_KEY as it was, ${goOn}`);
  if (marks === undefined || marks.every((mark) => found.includes(mark))) return;
  throw new CommandError(
    `${settings.instanceKey === undefined ? 'its instance.key' : 'INSTANCE_KEY'} is not the key of ${backup}: set INSTANCE_KEY as it was, and INSTANCE_KEY_PREVIOUS if the keys were being rotated, ${goOn}`,
  );
}
