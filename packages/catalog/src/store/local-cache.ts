import { createLru } from '@waymark/cache';
import type { Stored } from '../model/entity-type.js';
import type { NameOwner } from '../redis/record-cache.js';

/** Fallback TTL of a copy in this process, in case an invalidation is lost. */
const FRESH_MS = 1_000;
/**
 * How long a parsed record is used again when Redis still holds its version. Limited, because after an update with an unknown outcome
 * two rows of one version may exist.
 */
const PARSED_MS = 600_000;

interface RecordEntry<R> {
  readonly stored: Stored<R> | undefined;
  /** Older versions are not cached. */
  readonly floor: number;
  readonly freshUntilMs: number;
  readonly epoch: number;
  /** When the record was parsed, in ms. */
  readonly parsedMs: number;
}

export interface LocalRecordsOptions {
  readonly entriesMax: number;
  readonly staleMsMax: number;
  readonly now: () => number;
}

/** Records cached in this process. Past their TTL they are served only while both stores are away. */
export function createLocalRecords<R>({ entriesMax, staleMsMax, now }: LocalRecordsOptions) {
  const entries = createLru<string, RecordEntry<R>>(entriesMax);
  let epoch = 0;

  function stale(key: string): Stored<R> | undefined {
    const entry = entries.get(key);
    return entry !== undefined && entry.freshUntilMs + staleMsMax > now() ? entry.stored : undefined;
  }

  return {
    /** A redirect calls it five times, so it does not update the LRU order; the reload once a second does. */
    fresh(key: string): Stored<R> | undefined {
      const entry = entries.peek(key);
      return entry !== undefined && entry.epoch === epoch && entry.freshUntilMs > now() ? entry.stored : undefined;
    },

    /** The copy, however old, for when both stores fail. */
    stale,

    /** The expired copy, if no invalidation was received for it or could have been missed. */
    unchanged(key: string): Stored<R> | undefined {
      const stored = stale(key);
      const entry = entries.peek(key);
      return entry?.epoch === epoch && entry.floor === stored?.version ? stored : undefined;
    },

    /** The copy of a version, fresh or not, so that a record that was read again is not parsed again. */
    parsed(key: string, version: number): Stored<R> | undefined {
      const entry = entries.peek(key);
      const isUsable = entry?.stored?.version === version && entry.parsedMs + PARSED_MS > now();
      return isUsable ? entry.stored : undefined;
    },

    /** @param readAtMs when the read began that found it */
    put(key: string, stored: Stored<R>, readAtMs: number): void {
      const entry = entries.peek(key);
      if (stored.version < (entry?.floor ?? 0)) return;
      const parsedMs = entry?.stored === stored ? entry.parsedMs : readAtMs;
      entries.set(key, { stored, floor: stored.version, freshUntilMs: readAtMs + FRESH_MS, epoch, parsedMs });
    },

    /** A newer version exists: the copy serves only when both stores fail, and no older version is cached. */
    raise(key: string, version: number): void {
      const entry = entries.peek(key);
      if (entry === undefined || entry.floor >= version) return;
      entries.set(key, { ...entry, floor: version, freshUntilMs: now() });
    },

    delete(key: string): void {
      entries.delete(key);
    },

    /** Invalidations may have been missed: every copy is read again before it is served. */
    expireAll(): void {
      epoch += 1;
    },
  };
}
export type LocalRecords<R> = ReturnType<typeof createLocalRecords<R>>;

/** Cached owner of a name; no owner = no record has it. */
export interface NameEntry {
  readonly owner: NameOwner | undefined;
  readonly freshUntilMs: number;
  readonly epoch: number;
}

/** Owners of names cached in this process. */
export function createLocalNames(entriesMax: number, now: () => number) {
  const entries = createLru<string, NameEntry>(entriesMax);
  let epoch = 0;

  return {
    /** As `fresh` of {@link createLocalRecords}. */
    fresh(key: string): NameEntry | undefined {
      const entry = entries.peek(key);
      return entry !== undefined && entry.epoch === epoch && entry.freshUntilMs > now() ? entry : undefined;
    },

    /** The entry regardless of its age, as a fallback. */
    peek(key: string): NameEntry | undefined {
      return entries.peek(key);
    },

    /** @param readAtMs when the read began that found it */
    put(key: string, owner: NameOwner | undefined, readAtMs: number): void {
      entries.set(key, { owner, freshUntilMs: readAtMs + FRESH_MS, epoch });
    },

    delete(key: string): void {
      entries.delete(key);
    },

    expireAll(): void {
      epoch += 1;
    },
  };
}
export type LocalNames = ReturnType<typeof createLocalNames>;
