import { EVENT_TABLES, type EventRow, type EventTableKind, rowIds } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { splitRows } from '../queue/job-rows.js';
import { queueKey, rowsKey } from '../queue/keys.js';

const JOBS_AT_ONCE_MAX = 100;
/** Characters of one reply, about: a job may have a million, and Redis does nothing else meanwhile. */
const REPLY_CHARS = 2_000_000;
/** Limit on the rows that are read. If the queue is longer, after an outage, the writer finds the other references when it inserts (late-rows.ts). */
const CHARS_MAX = 64_000_000;
const POSITIONS = {
  click: EVENT_TABLES.lead.columns[1].indexOf('click_id'),
  eventName: EVENT_TABLES.lead.columns[1].indexOf('event_name'),
  invoice: EVENT_TABLES.sale.columns[1].indexOf('invoice_id'),
};

const textAt = (row: EventRow, position: number) => String(row[position] ?? '');

/** The id of the click that a row of a lead or sale is attributed to. */
export function clickBehind(row: string): string {
  return textAt(JSON.parse(row) as EventRow, POSITIONS.click);
}

/** Clicks, event names and invoices that queued leads and sales of customers refer to. */
export interface QueuedReferences {
  readonly clickIds: readonly string[];
  /** Names of leads; those of sales are not needed. */
  readonly eventNames: readonly string[];
  readonly invoiceIds: readonly string[];
}

async function jobIds(redis: Redis, kind: EventTableKind): Promise<string[]> {
  // The lists are read in the order in which a job moves through them, so that no job is missed.
  const [delayed, waiting, active] = await Promise.all([
    redis.zrange(queueKey(kind, 'delayed'), '0', '-1'),
    redis.lrange(queueKey(kind, 'wait'), 0, -1),
    redis.lrange(queueKey(kind, 'active'), 0, -1),
  ]);
  return [...new Set([...delayed, ...waiting, ...active])];
}

/**
 * Reads what the queued leads and sales of customers refer to. An erasure needs their clicks, which would otherwise be stored and sent to
 * webhooks before the writer inserts the leads, and their event names and invoices, to find the stored answers of their requests. Call it
 * before reading the tables: a row that leaves the queue in between is then found in its table.
 *
 * @param workspace the UInt64 of the workspace, as decimal text; customers likewise
 */
export async function queuedReferences(
  redis: Redis,
  workspace: string,
  customers: readonly string[],
): Promise<QueuedReferences> {
  if (customers.length === 0) return { clickIds: [], eventNames: [], invoiceIds: [] };
  const wanted = new Set(customers);
  const [clickIds, eventNames, invoiceIds] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let chars = 0;
  for (const kind of ['lead', 'sale'] as const) {
    const ids = await jobIds(redis, kind);
    // The first reply shows how long jobs are.
    let count = 1;
    for (let start = 0; start < ids.length && chars < CHARS_MAX; ) {
      const texts = await redis.mget(...ids.slice(start, start + count).map((id) => rowsKey(kind, id)));
      start += count;
      const replyChars = texts.reduce((sum, text) => sum + (text?.length ?? 0), 1);
      count = Math.max(1, Math.min(JOBS_AT_ONCE_MAX, 4 * count, Math.floor((count * REPLY_CHARS) / replyChars)));
      for (const text of texts.map((one) => one ?? '')) {
        chars += text.length;
        if (!customers.some((number) => text.includes(number))) continue;
        for (const rowText of splitRows(text)) {
          const { workspaceId, customerId } = rowIds(kind, rowText) ?? {};
          if (workspaceId !== workspace || !wanted.has(customerId ?? '')) continue;
          const row = JSON.parse(rowText) as EventRow;
          clickIds.add(textAt(row, POSITIONS.click));
          if (kind === 'lead') eventNames.add(textAt(row, POSITIONS.eventName));
          else invoiceIds.add(textAt(row, POSITIONS.invoice));
        }
      }
    }
  }
  invoiceIds.delete('');
  return { clickIds: [...clickIds], eventNames: [...eventNames], invoiceIds: [...invoiceIds] };
}
