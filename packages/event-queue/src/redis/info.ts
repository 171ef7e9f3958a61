/** A field of a reply to `INFO`; undefined if the reply does not contain it. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1];
}

/** The memory that Redis uses and its limit, in bytes, from a reply to `INFO memory`. A limit of 0 means none. */
export function memoryOf(info: string): { readonly usedBytes: number; readonly limitBytes: number } {
  return {
    usedBytes: Number(infoField(info, 'used_memory') ?? 0),
    limitBytes: Number(infoField(info, 'maxmemory') ?? 0),
  };
}
