import { answerWithin } from '@waymark/cache';
import { hasElapsed, parseResourceId } from '@waymark/contract';
import { ERASURES_TABLE } from '../model/entity-types.js';
import type { CatalogSubscriber } from '../redis/catalog-changes.js';
import { type RecordKey, recordKeyText } from '../store/record-table.js';
import { createErasureIndex, type ErasedPeople } from './erasure-index.js';
import { type ReadErasures, readErasures } from './read-records.js';
import type { SubjectHash } from './subject-hash.js';

/**
 * Reads {@link ErasedPeople}. Every process keeps a copy in memory. When an erasure is added or changed, only that one is read again; when
 * changes may have been missed, the versions of all are compared.
 */
export interface ErasedPeopleReader {
  /** The current people; undefined when there are none. @throws when the erasures cannot be read */
  current(): Promise<ErasedPeople | undefined>;
  /**
   * Like `current`, for requests that must be answered without ClickHouse as well: reads only after a change was received, and after a
   * second without an answer returns the last copy.
   */
  soon(): Promise<ErasedPeople | undefined>;
  /**
   * The last copy, which may be outdated or undefined, for requests that must not wait for ClickHouse. If it is outdated, it is read again
   * in the background, at most every two seconds.
   */
  peek(): ErasedPeople | undefined;
}

/** Days after an erasure in which rows of its people may still arrive: the writer refuses events whose id is older than thirty days. */
export const LATE_DAYS_MAX = 31;
/** After this time the versions are compared even if no change was received, in case a message was lost. */
const COPY_MS_MAX = 60_000;
/** How long {@link ErasedPeopleReader.soon} waits for ClickHouse. */
const SOON_MS_MAX = 1_000;
/** Shortest time between two reads that {@link ErasedPeopleReader.peek} begins. */
const PEEK_PAUSE_MS = 2_000;

/** Dependencies of {@link createErasedPeople}. */
export interface ErasedPeopleDeps {
  /** Keys and versions of the erasures to which late rows may belong, in pages. */
  readonly versions: () => AsyncIterable<readonly (readonly [...RecordKey, version: string])[]>;
  readonly read: ReadErasures;
  readonly subjects: SubjectHash;
  /** Whether this process receives the changes of others. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/** Creates the reader of this process. It is also a subscriber of the change feed. */
export function createErasedPeople(deps: ErasedPeopleDeps): ErasedPeopleReader & CatalogSubscriber {
  const { versions, read, subjects, isSubscribed, now } = deps;
  const index = createErasureIndex(subjects);
  /** Number of changes that were received; a copy with fewer is outdated. */
  let changes = 0;
  /** The erasures of these changes, except for those that are being read. */
  let changed = new Map<string, RecordKey>();
  /** Whether other erasures may have changed as well. */
  let areOthersUnknown = true;
  /** The last read that has ended: its number, the number of changes before it, and when all versions were compared last. */
  let copy: { readonly read: number; readonly changes: number; readonly comparedMs: number } | undefined;
  let reads = 0;
  let readMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;

  const isWithin = (sinceMs: number, ms: number) => !hasElapsed(sinceMs, ms, now());
  const isUnchanged = () => copy !== undefined && copy.changes === changes && isSubscribed();
  const isCurrent = () => copy !== undefined && isUnchanged() && isWithin(copy.comparedMs, COPY_MS_MAX);
  const people = () => (copy === undefined || index.size() === 0 ? undefined : index.people);

  /** Adds the erasures of which the index lacks the present version, and removes those that are not listed. */
  async function compareVersions(wanted: Map<string, RecordKey>): Promise<void> {
    const listed = new Set<string>();
    for await (const page of versions()) {
      for (const [workspace, number, version] of page) {
        const key = recordKeyText(workspace, number);
        listed.add(key);
        if ((index.versionOf(key) ?? 0) < Number(version)) wanted.set(key, [workspace, number]);
      }
    }
    for (const key of index.keys()) if (!listed.has(key)) index.remove(key);
  }

  async function load(): Promise<void> {
    reads += 1;
    readMs = now();
    const begun = { read: reads, changes, at: readMs };
    const isWhole =
      areOthersUnknown || copy === undefined || !isSubscribed() || !isWithin(copy.comparedMs, COPY_MS_MAX);
    const wanted = changed;
    changed = new Map();
    areOthersUnknown = false;
    try {
      const removed = new Set(wanted.keys());
      if (isWhole) await compareVersions(wanted);
      for await (const found of readErasures(read, wanted.values())) {
        for (const stored of found) {
          const { workspaceId, id } = stored.record;
          const key = recordKeyText(
            parseResourceId('workspace', workspaceId) ?? '',
            parseResourceId('erasure', id) ?? '',
          );
          index.put(key, stored);
          removed.delete(key);
        }
      }
      for (const key of removed) index.remove(key);
      copy = {
        read: begun.read,
        changes: begun.changes,
        comparedMs: isWhole ? begun.at : (copy?.comparedMs ?? begun.at),
      };
    } catch (err) {
      for (const [key, ids] of wanted) changed.set(key, ids);
      areOthersUnknown ||= isWhole;
      throw err;
    }
  }

  async function current(): Promise<ErasedPeople | undefined> {
    if (isCurrent()) return people();
    const before = { changes, reads, isSubscribed: isSubscribed() };
    // Repeated while the read began before a change that was received before this call, or that may have been missed.
    const isOutdated = () =>
      copy !== undefined && (copy.changes < before.changes || (!before.isSubscribed && copy.read <= before.reads));
    do {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      await loading;
    } while (isOutdated());
    return people();
  }

  function peek(): ErasedPeople | undefined {
    // A failure leaves the copy as it is, and a later request tries again.
    if (!isCurrent() && loading === undefined && !isWithin(readMs, PEEK_PAUSE_MS)) current().catch(() => undefined);
    return people();
  }

  return {
    current,
    peek,
    async soon() {
      return isUnchanged() ? peek() : answerWithin(current(), SOON_MS_MAX).catch(peek);
    },
    onChange({ records }) {
      for (const { table, workspaceId, id } of records) {
        if (table !== ERASURES_TABLE) continue;
        changes += 1;
        const [workspace, number] = [parseResourceId('workspace', workspaceId), parseResourceId('erasure', id)];
        if (workspace === undefined || number === undefined) areOthersUnknown = true;
        else changed.set(recordKeyText(workspace, number), [workspace, number]);
      }
    },
    onGap() {
      changes += 1;
      areOthersUnknown = true;
    },
  };
}
