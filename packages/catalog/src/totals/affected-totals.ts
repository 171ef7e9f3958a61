import { formatResourceId } from '@waymark/contract';
import { type EventTableKind, rowIds } from '@waymark/event-format';
import type { AffectedTotals } from '../redis/catalog-changes.js';

/**
 * Maximum number of ids in one message: the changes of a large insert are published as several messages, so that no subscriber is blocked
 * for long.
 */
const IDS_PER_MESSAGE = 1000;

/** The links and customers whose totals include the rows, by workspace. All ids are UInt64 as decimal text. */
function numbersOf(kind: EventTableKind, rows: readonly string[]) {
  const byWorkspace = new Map<string, { readonly links: Set<string>; readonly customers: Set<string> }>();
  for (const row of rows) {
    const subjects = rowIds(kind, row);
    if (subjects === undefined) continue;
    const { workspaceId, linkId, customerId } = subjects;
    const numbers = byWorkspace.get(workspaceId) ?? { links: new Set(), customers: new Set() };
    byWorkspace.set(workspaceId, numbers);
    numbers.links.add(linkId);
    if (customerId !== undefined) numbers.customers.add(customerId);
  }
  return byWorkspace;
}

/** Rows of events that are inserted together. */
export interface CountedInsert {
  readonly kind: EventTableKind;
  /** Id of the insert batch; the same when the insert is repeated. */
  readonly batchId: string;
  /** JSON arrays in the order of the table's columns. */
  readonly rows: readonly string[];
}

/** Results by the array of rows, because each is needed before the insert and again after it. */
const results = new WeakMap<readonly string[], AffectedTotals[][]>();

/**
 * The links and customers whose totals an insert changes, divided into messages for the change feed.
 *
 * @param rows JSON arrays in the order of the table's columns
 */
export function affectedTotalsOf(kind: EventTableKind, rows: readonly string[]): AffectedTotals[][] {
  const earlier = results.get(rows);
  if (earlier !== undefined) return earlier;
  const affected = findAffected(kind, rows);
  results.set(rows, affected);
  return affected;
}

function findAffected(kind: EventTableKind, rows: readonly string[]): AffectedTotals[][] {
  const messages: AffectedTotals[][] = [];
  let freeIds = 0;
  for (const [workspace, { links, customers }] of numbersOf(kind, rows)) {
    const workspaceId = formatResourceId('workspace', workspace);
    const ids = [
      ...[...links].map((number) => formatResourceId('link', number)),
      ...[...customers].map((number) => formatResourceId('customer', number)),
    ];
    while (ids.length > 0) {
      if (freeIds === 0) {
        messages.push([]);
        freeIds = IDS_PER_MESSAGE;
      }
      const some = ids.splice(0, freeIds);
      freeIds -= some.length;
      messages.at(-1)?.push({ workspaceId, ids: some });
    }
  }
  return messages;
}
