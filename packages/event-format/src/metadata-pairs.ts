import { metadataPath, metadataText } from '@waymark/contract';

/** Marks an empty object or list. No key contains it, because in a key a backslash only precedes `\`, `.` or `=`. */
const EMPTY_MARK = '\\-';

function collect(value: unknown, path: string, pairs: string[]): void {
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    if (members.length === 0) pairs.push(`${path}.${EMPTY_MARK}=`);
    for (const [key, member] of members) collect(member, `${path}.${metadataPath([key])}`, pairs);
    return;
  }
  pairs.push(`${path}=${metadataText(String(value))}`);
}

/**
 * Flattens metadata to `path=value` texts for the column `metadata_kv`: one per scalar, in its text form (`25`, `true`, `null`), and
 * one per empty object or list, so that queries for existence find it. List positions are path segments like keys;
 * `metadataPath` defines how paths are written.
 */
export function metadataPairs(metadata: Readonly<Record<string, unknown>> | null): string[] {
  const pairs: string[] = [];
  for (const [key, member] of Object.entries(metadata ?? {})) collect(member, metadataPath([key]), pairs);
  return pairs;
}
