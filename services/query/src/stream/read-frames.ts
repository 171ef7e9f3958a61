import type { Catalog } from '@waymark/catalog';
import type { EventKind } from '@waymark/contract';
import type { EventTableKind } from '@waymark/event-format';
import { bindFilters, type ParsedFilters } from '@waymark/event-query';
import type { TailEntry } from '@waymark/event-queue';
import { type Caller, findReferences } from '../events/find-references.js';
import { createPageTexts, itemTexts } from '../events/page-text.js';
import { eventFrame, type Frame } from './frames.js';
import { createReadRows, type ReadRowsDeps } from './read-rows.js';
import type { Subscription } from './subscription.js';

export interface FrameReaderDeps extends ReadRowsDeps {
  readonly catalog: Catalog;
  readonly now: () => number;
}

/** Reads the events of tail entries that pass the filters of a subscription, and makes their frames, in the order of the entries. */
export type ReadFrames = (subscription: Subscription, entries: readonly TailEntry[]) => Promise<Frame[]>;

/** The kind of event in the API, by the kind in a tail. */
const KINDS: Readonly<Record<EventTableKind, EventKind>> = { click: 'clicks', lead: 'leads', sale: 'sales' };

/** Creates the reader of all streams of a process; equal reads of them share one query. */
export function createFrameReader(deps: FrameReaderDeps): ReadFrames {
  const { catalog, now } = deps;
  const texts = createPageTexts(catalog);
  const readRows = createReadRows(deps);

  /** Reads counters without a cache, because the events of a stream were stored a moment ago. */
  function countersFor({ workspaceId }: Caller) {
    return {
      linkCounters: (ids: readonly string[]) => catalog.links.counters(workspaceId, ids),
      customerTotals: (ids: readonly string[]) => catalog.customers.counters(workspaceId, ids),
    };
  }

  /** The JSON texts of the events that pass the filters, by id. The records that the filters name are looked up at each call. */
  async function readTexts(
    { caller, programId, key: filterKey }: Subscription,
    filters: ParsedFilters,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { workspaceId } = caller;
    const { kind } = filters;
    const references = await findReferences(catalog, caller, filters);
    const bound = bindFilters(filters, { workspaceId, programId, ...references });
    if (bound.isEmpty) return new Map();
    const rows = await readRows({ workspaceId, kind, ids, bound, filterKey });
    const items = await itemTexts({ ...texts, ...countersFor(caller), catalog, now }, caller, kind, rows);
    return new Map(rows.flatMap(([id], index) => (items[index] === undefined ? [] : [[id, items[index]]])));
  }

  return async (subscription, entries) => {
    const found = await Promise.all(
      [...subscription.filters].map(([kind, filters]) => {
        const ids = entries.flatMap((entry) => (KINDS[entry.kind] === kind ? entry.ids : []));
        return ids.length === 0 ? [] : readTexts(subscription, filters, ids);
      }),
    );
    const textById = new Map(found.flatMap((each) => [...each]));
    return entries.flatMap(({ kind, start, ids }) =>
      ids.flatMap((id, index): Frame[] => {
        const text = textById.get(id);
        const position = { ...start, number: start.number + index + 1 };
        return text === undefined ? [] : [eventFrame(position, kind, text)];
      }),
    );
  };
}
