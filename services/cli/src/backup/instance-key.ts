import { instanceKeyFiles, type KeyMarks, keyMarks, readInstanceKeys, type Settings } from '@waymark/config';
import { CommandError } from '../command-error.js';
import { printStatus } from '../output.js';
import { runningServices } from '../running-services.js';
import { type Target, withQueues } from '../stores.js';

/** How to find out afterwards whether the keys open everything. */
const CHECK = 'after the start, `npx waymark instance-key reseal --check` shows whether everything can be read';

/** The marks of the keys in the settings, or else in the files of `directory`. Undefined when neither has a key. */
function marksIn(settings: Settings, directory: string): KeyMarks | undefined {
  if (settings.instanceKey === undefined && instanceKeyFiles.read(directory) === undefined) return undefined;
  const { current, previous } = readInstanceKeys({ ...settings, dataDir: directory });
  return keyMarks({ current, others: previous === undefined ? [] : [previous] });
}

/** The marks that the processes of the stack publish; undefined when none does, or they do not seal with one key. */
async function publishedMarks(target: Target): Promise<KeyMarks | undefined> {
  const running = await withQueues(target, ([redis]) => runningServices(redis));
  const marks = running.flatMap(({ keys }) => keys ?? []);
  const [first] = marks;
  return marks.every(({ current }) => current === first?.current) ? first : undefined;
}

/**
 * The marks of the instance keys with which the values in a backup are sealed: those of the processes of the stack, or INSTANCE_KEY if none is
 * running. Undefined when they are uncertain: an instance.key may be left of the time before INSTANCE_KEY was set elsewhere.
 */
export async function backupMarks(target: Target): Promise<KeyMarks | undefined> {
  const { settings, stack } = target;
  if (stack !== undefined) return publishedMarks(target);
  return settings.instanceKey === undefined ? undefined : marksIn(settings, settings.dataDir);
}

/** What to do about a key that is not in the backup. */
export function keyLines(settings: Settings, backup: string, marks: KeyMarks | undefined): string[] {
  const inBackup = marksIn({ ...settings, instanceKey: undefined, instanceKeyPrevious: undefined }, backup);
  if (marks !== undefined && marks.current !== inBackup?.current)
    return ['INSTANCE_KEY is set and not part of the backup: store it separately'];
  if (inBackup !== undefined) return [];
  return ['the backup has no instance.key, and INSTANCE_KEY is not set here: store the key of the stack separately'];
}

/**
 * Checks that the values in a backup can be opened after its restore. Otherwise the first start would make another key, and link passwords,
 * webhook secrets and credentials could not be read. Prints what it cannot check.
 *
 * @param marks of the keys at the time of the backup; undefined when it has none, as those of earlier releases
 * @throws CommandError when there is no key, or another one
 */
export function checkInstanceKey(settings: Settings, backup: string, marks: KeyMarks | undefined): void {
  const found = marksIn(settings, backup);
  const goOn = 'or use --without-instance-key, after which what it has sealed cannot be read';
  if (found === undefined) throw new CommandError(`${backup} has no instance.key: set INSTANCE_KEY as it was, ${goOn}`);
  const name = settings.instanceKey === undefined ? 'its instance.key' : 'INSTANCE_KEY';
  if (marks === undefined) {
    printStatus(`${backup} has no mark of its key, so ${name} is not compared: ${CHECK}`);
  } else if (!found.accepted.includes(marks.current)) {
    throw new CommandError(
      `${name} is not the key of ${backup}: set INSTANCE_KEY as it was, and INSTANCE_KEY_PREVIOUS if the keys were being rotated, ${goOn}`,
    );
  } else if (marks.accepted.some((mark) => !found.accepted.includes(mark))) {
    printStatus(`the stack of ${backup} accepted another key too, as in a rotation, which is not set here: ${CHECK}`);
  }
}
