/** A field of a reply to `INFO`; undefined if the reply does not contain it. */
export function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
}

/** The memory that Redis uses and its limit. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** 0 = no limit. */
  readonly limitBytes: number;
}

/** @param info a reply to `INFO memory` */
export function memoryOf(info: string): RedisMemory {
  return {
    usedBytes: Number(infoField(info, 'used_memory') ?? 0),
    limitBytes: Number(infoField(info, 'maxmemory') ?? 0),
  };
}

/** Share of its memory limit that Redis uses, 0 if it has no limit. @param info a reply to `INFO memory` */
export function memoryShare(info: string): number {
  const { usedBytes, limitBytes } = memoryOf(info);
  return limitBytes === 0 ? 0 : usedBytes / limitBytes;
}
