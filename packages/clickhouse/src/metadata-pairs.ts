function escapeKey(key: string): string {
  return key.replace(/[\\.=]/g, (character) => `\\${character}`);
}

function collect(value: unknown, path: string, pairs: string[]): void {
  if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      collect(member, path === '' ? escapeKey(key) : `${path}.${escapeKey(key)}`, pairs);
    }
    return;
  }
  pairs.push(`${path}=${String(value)}`);
}

/**
 * Flattens metadata to `path=value` texts for `metadata_kv`: one per scalar, in its text form (`25`, `true`, `null`).
 * Path parts are joined by `.`, array positions are parts like any key, and `\`, `.` and `=` inside a key are escaped with
 * a backslash, so that no two different paths give the same text.
 */
export function metadataPairs(metadata: Readonly<Record<string, unknown>> | null): string[] {
  const pairs: string[] = [];
  if (metadata !== null) collect(metadata, '', pairs);
  return pairs;
}
