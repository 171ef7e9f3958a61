import { metadataPath, metadataText } from '@waymark/contract';

function collect(value: unknown, path: string, pairs: string[]): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) collect(member, `${path}.${metadataPath([key])}`, pairs);
    return;
  }
  pairs.push(`${path}=${metadataText(String(value))}`);
}

/**
 * Flattens metadata to `path=value` texts for `metadata_kv`: one per scalar, in its text form (`25`, `true`, `null`). Array
 * positions are parts of a path like any key; see `metadataPath` for how paths are written.
 */
export function metadataPairs(metadata: Readonly<Record<string, unknown>> | null): string[] {
  const pairs: string[] = [];
  for (const [key, member] of Object.entries(metadata ?? {})) collect(member, metadataPath([key]), pairs);
  return pairs;
}
