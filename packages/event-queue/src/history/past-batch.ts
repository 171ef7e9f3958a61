import { EVENT_ROW_VERSION, EVENT_TABLES, type EventRow, type EventTableKind } from '@waymark/event-format';
import type { PendingBatch } from './history-state.js';

/** An event of the past: its row, version 1. The event's id is derived from its source, so that a repeated import finds it. */
export interface PastRow {
  readonly kind: EventTableKind;
  readonly row: EventRow;
}

/** A claim that an event of the past takes, as an event of `/track` does. */
export interface PastClaim {
  readonly eventId: string;
  readonly name: string;
  /** Its final value. */
  readonly value: string;
  /** What happens if another event has the claim: `drop` the event, because it is recorded already; or store it as a `recurring` sale. */
  readonly ifTaken: 'drop' | 'recurring';
}

/** The id that another system gave to an imported click, and the click's id here. */
export interface ClickAlias {
  readonly alias: string;
  readonly clickId: string;
  /** Epoch milliseconds. */
  readonly clickedAtMs: number;
}

const TIME = 1;
const ID = 2;
const SALE = EVENT_TABLES.sale.columns[EVENT_ROW_VERSION];
const [SALE_TYPE, CUSTOMER, LINK] = [SALE.indexOf('sale_type'), SALE.indexOf('customer_id'), SALE.indexOf('link_id')];
const [YEAR_CHARS, MONTH_CHARS] = ['2024'.length, '2024-01'.length];
/** Blocks that a counted insert of a writer adds to a table at most (REPEATABLE_INSERTS in insert-counts.ts). */
const BLOCKS_PER_INSERT = 3;

/** The rows of a batch, laid out for inserts. `months` are the first days of months, such as `2024-01-01`, with their numbers of events. */
export interface PastLayout extends Pick<PendingBatch, 'parts' | 'months'> {
  /** Number of inserts of a writer that these inserts count as, because ClickHouse keeps deduplication tokens for a number of blocks. */
  readonly inserts: number;
}

/**
 * Divides rows into parts by kind and year, each in the order of time. Tables are partitioned by year, on a cluster by month, so the insert of
 * a part writes into at most twelve partitions.
 */
export function layOutPast(rows: readonly PastRow[]): PastLayout {
  const parts = new Map<string, { name: string; kind: EventTableKind; rows: string[] }>();
  const months = new Map<string, number>();
  const blocks = new Set<string>();
  for (const { kind, row } of rows.toSorted((one, other) => Number(one.row[TIME]) - Number(other.row[TIME]))) {
    const month = new Date(Number(row[TIME])).toISOString().slice(0, MONTH_CHARS);
    const name = `${kind}-${month.slice(0, YEAR_CHARS)}`;
    const part = parts.get(name) ?? { name, kind, rows: [] };
    parts.set(name, part);
    part.rows.push(JSON.stringify(row));
    months.set(month, (months.get(month) ?? 0) + 1);
    blocks.add(`${kind}-${month}`);
  }
  return {
    parts: [...parts.values()],
    months: [...months].map(([month, events]) => [`${month}-01`, events]),
    inserts: parts.size + Math.ceil(blocks.size / BLOCKS_PER_INSERT),
  };
}

type HeldClaim = PendingBatch['claims'][number];

/**
 * The batch without the events that are recorded already, and with `recurring` instead of `new` for sales whose first sale is another event.
 * If the first sale of a customer on a link is dropped, the customer's next sale there becomes the first.
 *
 * @param taken the claims of the batch that other events have
 */
export function withoutTaken(batch: PendingBatch, taken: readonly HeldClaim[]): PendingBatch {
  const idsOf = (claims: readonly HeldClaim[], ifTaken: PastClaim['ifTaken']) =>
    new Set(claims.filter((claim) => claim.ifTaken === ifTaken).map(({ eventId }) => eventId));
  const [dropped, recurring] = [idsOf(taken, 'drop'), idsOf(taken, 'recurring')];
  const names = new Set(taken.map(({ name }) => name));
  const claims = batch.claims.filter(({ name }) => !names.has(name));
  const events = batch.parts.flatMap(({ kind, rows }) =>
    rows.map((text) => ({ kind, row: JSON.parse(text) as EventRow })),
  );
  const idOf = (row: EventRow) => String(row[ID]);
  const buyerOf = (row: EventRow) => `${row[CUSTOMER]}/${row[LINK]}`;

  const firsts = idsOf(claims, 'recurring');
  /** Ids of the dropped first sales, by buyer. */
  const droppedFirsts = new Map(
    events.flatMap(({ row }) => {
      const id = idOf(row);
      return dropped.has(id) && firsts.has(id) ? [[buyerOf(row), id] as const] : [];
    }),
  );
  /** By the id of a dropped first sale, the id of the sale that replaces it. */
  const replacements = new Map<string, string>();
  const withSaleType = (row: EventRow): EventRow => {
    if (recurring.has(idOf(row))) return row.with(SALE_TYPE, 'recurring');
    const buyer = buyerOf(row);
    const before = droppedFirsts.get(buyer);
    if (before === undefined) return row;
    droppedFirsts.delete(buyer);
    replacements.set(before, idOf(row));
    return row.with(SALE_TYPE, 'new');
  };
  const rows = events
    .filter(({ row }) => !dropped.has(idOf(row)))
    .map(({ kind, row }): PastRow => ({ kind, row: kind === 'sale' ? withSaleType(row) : row }));
  const { parts, months } = layOutPast(rows);
  const moved = claims.map((claim) => ({ ...claim, eventId: replacements.get(claim.eventId) ?? claim.eventId }));
  return { ...batch, parts, months, claims: moved };
}
