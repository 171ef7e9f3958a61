import { metadataPath, metadataText } from '@waymark/contract';

/** What stands below an empty object or list. No key is written so: a backslash is before `\`, `.` or `=` only. */
const NO_MEMBER = '\\-';

function collect(value: unknown, path: string, pairs: string[]): void {
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    if (members.length === 0) pairs.push(`${path}.${NO_MEMBER}=`);
    for (const [key, member] of members) collect(member, `${path}.${metadataPath([key])}`, pairs);
    return;
  }
  pairs.push(`${path}=${metadataText(String(value))}`);
}

/**
 * Flattens metadata to `path=value` texts for `metadata_kv`: one per scalar, in its text form (`25`, `true`, `null`), and
 * one below each empty object or list, so that it is there. Array positions are parts of a path like any key; see `metadataPath`
 * for how paths are written.
 */
export function metadataPairs(metadata: Readonly<Record<string, unknown>> | null): string[] {
  const pairs: string[] = [];
  for (const [key, member] of Object.entries(metadata ?? {})) collect(member, metadataPath([key]), pairs);
  return pairs;
}
