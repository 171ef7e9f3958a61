import { readFileSync } from 'node:fs';
import { ERASURE_MODES, type Erasure, erasureSchema } from '@waymark/contract';
import { z } from 'zod';
import { CommandError } from '../../command-error.js';
import { openFileOutput } from '../../export/export-output.js';

/** Reads a list of erasures from its file. @throws CommandError when the file cannot be read, or is no such list */
export function readErasureFile(file: string): Erasure[] {
  try {
    return z.array(erasureSchema).parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (err) {
    throw new CommandError(
      `${file} is not what \`waymark erasure list --output\` or \`--json\` writes: ${(err as Error).message}`,
    );
  }
}

/** The list in the file; undefined when there is no file. @throws CommandError when it is no such list */
function existingList(file: string): Erasure[] | undefined {
  try {
    readFileSync(file);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  return readErasureFile(file);
}

/** Whether the first erasure leaves no more of a person than the other one. */
const isAsStrong = (one: Pick<Erasure, 'mode'>, other: Pick<Erasure, 'mode'>): boolean =>
  one.mode === 'delete' || one.mode === other.mode;

/** The two lists that are compared. Named, because they have the same type, and if they are swapped, an erasure is lost. */
interface ErasureLists {
  /** The list in the file. */
  readonly kept: readonly Erasure[];
  /** Those of the installation. */
  readonly found: readonly Erasure[];
}

/** The erasures of a list to repeat: those that are not completed in the records with a mode that is as strong. */
export function leftToRepeat({ kept, found }: ErasureLists): Erasure[] {
  const erased = new Map(found.filter(({ status }) => status === 'erased').map((erasure) => [erasure.id, erasure]));
  return kept.filter((erasure) => {
    const one = erased.get(erasure.id);
    return one === undefined || !isAsStrong(one, erasure);
  });
}

/** The erasures of `kept` for which `found` has neither the same one nor one of all its customers, with a mode that is as strong. */
function lostErasures({ kept, found }: ErasureLists): Erasure[] {
  return ERASURE_MODES.flatMap((mode) => {
    const strong = found.filter((erasure) => isAsStrong(erasure, { mode }));
    const ids = new Set(strong.map(({ id }) => id));
    const customers = new Set(strong.flatMap(({ customerIds }) => customerIds));
    const isRepeated = ({ customerIds }: Erasure) =>
      customerIds.length > 0 && customerIds.every((customerId) => customers.has(customerId));
    return kept.filter((erasure) => erasure.mode === mode && !ids.has(erasure.id) && !isRepeated(erasure));
  });
}

/**
 * Writes a list of erasures to a file that only its owner may read. The file always has a whole list: the earlier one until the new one is
 * complete. Erasures that a restored installation has lost stay in it.
 *
 * @throws CommandError when the file has erasures that the installation lacks, or is no list of erasures
 */
export async function writeErasureFile(file: string, erasures: readonly Erasure[]): Promise<void> {
  const missing = lostErasures({ kept: existingList(file) ?? [], found: erasures });
  if (missing.length > 0) {
    throw new CommandError(
      `${file} is left as it is: ${missing.length} of its erasures are not in this installation, or only with a weaker mode, as after a restore of an earlier backup. Repeat them with \`waymark erasure replay ${file}\`, then write to another file`,
    );
  }
  const output = await openFileOutput(file);
  try {
    await output.write(Buffer.from(`${JSON.stringify(erasures, null, 2)}\n`));
    await output.complete();
  } finally {
    await output.discard();
  }
}
