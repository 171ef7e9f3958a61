import { createLru } from '@waymark/cache';
import type { Stored } from '../model/entity-type.js';
import type { NameOwner } from '../redis/record-cache.js';

/** TTL of a copy in this process. Invalidations evict copies earlier; the TTL is for the case that one is lost. */
const FRESH_MS = 1_000;
/**
 * How long an expired copy is used again if Redis has its version, to save parsing the record. Limited, because after an update with an
 * unknown outcome two rows of one version may exist.
 */
const PARSED_MS = 600_000;

/** Whether a copy is within its TTL. One whose read lies in the future is not: the clock was set back since, however far. */
const isFresh = (freshUntilMs: number, nowMs: number) => nowMs < freshUntilMs && nowMs >= freshUntilMs - FRESH_MS;

interface RecordEntry<R> {
  readonly stored: Stored<R>;
  /** The lowest version that may be cached under this key. */
  readonly floor: number;
  readonly freshUntilMs: number;
  /** Number of `expireAll` calls when the entry was stored. */
  readonly epoch: number;
  /** When the record was parsed, in ms. */
  readonly parsedMs: number;
  /** Length of the record's JSON. */
  readonly chars: number;
}

/** The most that a cache of records holds. Both bounds hold: a record takes the room of one entry, or of several if it has more characters. */
export interface RecordsBound {
  readonly entriesMax: number;
  /** Characters of JSON for each entry. */
  readonly charsEach: number;
}

/** Options of {@link createLocalRecords}. */
export interface LocalRecordsOptions {
  readonly bound: RecordsBound;
  readonly staleMsMax: number;
  readonly now: () => number;
}

/** The cache of records in this process. After their TTL, copies are served only while both stores are away. */
export function createLocalRecords<R>({ bound, staleMsMax, now }: LocalRecordsOptions) {
  const entries = createLru<string, RecordEntry<R>>(bound.entriesMax, {
    each: bound.charsEach,
    of: ({ chars }) => chars,
  });
  let epoch = 0;

  function stale(key: string): Stored<R> | undefined {
    const entry = entries.get(key);
    return entry !== undefined && entry.freshUntilMs + staleMsMax > now() ? entry.stored : undefined;
  }

  return {
    /**
     * The copy within its TTL. A redirect calls it five times, so it does not update the LRU order; the reload once a second does.
     */
    fresh(key: string): Stored<R> | undefined {
      const entry = entries.peek(key);
      if (entry?.epoch !== epoch || entry.stored.version !== entry.floor) return undefined;
      return isFresh(entry.freshUntilMs, now()) ? entry.stored : undefined;
    },

    /** The copy, up to `staleMsMax` after its TTL, for reads while both stores fail. */
    stale,

    /** The copy, also an expired one, if no invalidation of it was received, and none can have been missed. */
    unchanged(key: string): Stored<R> | undefined {
      const stored = stale(key);
      const entry = entries.peek(key);
      return entry?.epoch === epoch && entry.floor === stored?.version ? stored : undefined;
    },

    /** The copy of that version, fresh or not, so that a record is not parsed again when the same version was read again. */
    parsed(key: string, version: number): Stored<R> | undefined {
      const entry = entries.peek(key);
      const isUsable = entry?.stored.version === version && entry.parsedMs + PARSED_MS > now();
      return isUsable ? entry.stored : undefined;
    },

    /**
     * Stores a record, unless a newer version is known.
     *
     * @param readAtMs when the read began that has found it
     * @param chars length of its JSON; ignored for the object that {@link parsed} has returned
     */
    put(key: string, stored: Stored<R>, readAtMs: number, chars: number): void {
      const entry = entries.peek(key);
      if (stored.version < (entry?.floor ?? 0)) return;
      const [floor, freshUntilMs] = [stored.version, readAtMs + FRESH_MS];
      const { parsedMs, chars: ownChars } = entry?.stored === stored ? entry : { parsedMs: readAtMs, chars };
      entries.set(key, { stored, floor, freshUntilMs, epoch, parsedMs, chars: ownChars });
    },

    /** Call it when a newer version exists: the copy expires, and no older version is stored any more. */
    raise(key: string, version: number): void {
      const entry = entries.peek(key);
      if (entry === undefined || entry.floor >= version) return;
      entries.set(key, { ...entry, floor: version, freshUntilMs: now() });
    },

    delete(key: string): void {
      entries.delete(key);
    },

    /** Expires every copy, because invalidations may have been missed. */
    expireAll(): void {
      epoch += 1;
    },
  };
}
export type LocalRecords<R> = ReturnType<typeof createLocalRecords<R>>;

/** The cached owner of a name; undefined = no record has the name. */
export interface NameEntry {
  readonly owner: NameOwner | undefined;
  readonly freshUntilMs: number;
  readonly epoch: number;
}

/** Characters for each entry of the cache of names. A longer name, up to the limit of `isPossibleName`, takes the room of several. */
const NAME_CHARS_EACH = 200;

/** The cache of names in this process. */
export function createLocalNames(entriesMax: number, now: () => number) {
  const entries = createLru<string, NameEntry>(entriesMax, { each: NAME_CHARS_EACH, of: (_entry, key) => key.length });
  let epoch = 0;

  return {
    /** The entry within its TTL; see `fresh` of {@link createLocalRecords}. */
    fresh(key: string): NameEntry | undefined {
      const entry = entries.peek(key);
      return entry !== undefined && entry.epoch === epoch && isFresh(entry.freshUntilMs, now()) ? entry : undefined;
    },

    /** The entry, however old, for reads while both stores fail. */
    peek(key: string): NameEntry | undefined {
      return entries.peek(key);
    },

    /** Stores the owner of a name. @param readAtMs when the read began that has found it */
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
