import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog, SealedCounts } from '@waymark/catalog';
import { orMissing } from '@waymark/jobs';

export interface ImportCredentials {
  readonly counts: SealedCounts;
  /** Names of the directories of imports whose credential no key can open. */
  readonly unreadable: readonly string[];
}

/**
 * Writes over a file in one piece: the new text is as long as the old one, its owner stays, and a file that was removed meanwhile, because its
 * import has ended, does not come back.
 */
async function overwrite(path: string, text: string): Promise<void> {
  const handle = await orMissing(open(path, 'r+'));
  if (handle === undefined) return;
  try {
    await handle.write(text, 0);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/**
 * Visits the credentials of sources in the files of imports over HTTP that have not ended (`DATA_DIR/imports`). It can be interrupted at
 * any point and repeated.
 *
 * @param isResealing encrypts with the current key what another accepted key has encrypted; else the credentials are only counted
 */
export async function walkImportCredentials(
  root: string,
  { importJobs }: Pick<Catalog, 'importJobs'>,
  isResealing: boolean,
): Promise<ImportCredentials> {
  const counts = { current: 0, resealed: 0, other: 0, unknown: 0 };
  const unreadable: string[] = [];
  for (const directory of (await orMissing(readdir(root))) ?? []) {
    const path = join(root, directory, 'credential');
    const sealed = await orMissing(readFile(path, 'utf8'));
    if (sealed === undefined) continue;
    const sealer = importJobs.sealerOf(sealed, directory);
    if (sealer === 'unknown') unreadable.push(directory);
    if (sealer !== 'other' || !isResealing) {
      counts[sealer]++;
      continue;
    }
    await overwrite(path, importJobs.seal(importJobs.unseal(sealed, directory), directory));
    counts.current++;
    counts.resealed++;
  }
  return { counts, unreadable };
}
