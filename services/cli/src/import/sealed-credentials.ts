import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog, SealedCounts } from '@waymark/catalog';
import { orMissing } from '@waymark/jobs';

/** The credentials of imports, counted by the key that sealed them. */
export interface ImportCredentials {
  readonly counts: SealedCounts;
  /** Names of the directories of imports whose credential no accepted key can decrypt. */
  readonly unreadable: readonly string[];
}

/**
 * Overwrites a file in place with a text of the same length. Its owner stays the same, and a file that was removed meanwhile, because its
 * import has ended, is not created again.
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
 * Counts the credentials of sources in the files of imports that have not ended, and re-seals them. It can be interrupted at any point, and
 * repeated.
 *
 * @param root the directory `DATA_DIR/imports`
 * @param isResealing whether to seal with the current key the credentials that another accepted key has sealed; else they are only counted
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
