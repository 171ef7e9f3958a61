import { EVENT_TABLES, type EventRow, type EventTableKind, rowIds } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { splitRows } from '../queue/job-rows.js';
import { queueKey, rowsKey } from '../queue/keys.js';

const JOBS_AT_ONCE = 100;
/** In the backlog of an outage the writer finds the rest, when it comes to those rows. */
const CHARS_MAX = 64_000_000;
const POSITIONS = {
  click: EVENT_TABLES.lead.columns[1].indexOf('click_id'),
  eventName: EVENT_TABLES.lead.columns[1].indexOf('event_name'),
  invoice: EVENT_TABLES.sale.columns[1].indexOf('invoice_id'),
};

/** The click that a row of a lead or sale names. */
export function clickBehind(row: string): string {
  return textAt(JSON.parse(row) as EventRow, POSITIONS.click);
}

const textAt = (row: EventRow, position: number) => String(row[position] ?? '');

/** What queued leads and sales of customers name. */
export interface QueuedReferences {
  readonly clickIds: readonly string[];
  /** Of leads. */
  readonly eventNames: readonly string[];
  readonly invoiceIds: readonly string[];
}

async function jobIds(redis: Redis, kind: EventTableKind): Promise<string[]> {
  // In the order in which a job moves, so that none is missed.
  const [delayed, waiting, active] = await Promise.all([
    redis.zrange(queueKey(kind, 'delayed'), '0', '-1'),
    redis.lrange(queueKey(kind, 'wait'), 0, -1),
    redis.lrange(queueKey(kind, 'active'), 0, -1),
  ]);
  return [...new Set([...delayed, ...waiting, ...active])];
}

/**
 * What the queued leads and sales of customers name. Without their clicks, those would be stored and sent to webhooks before the writer
 * comes to the leads; without names and invoices, the stored answers of those requests would stay. Read it before the tables, so that a
 * row that leaves the queue in between is found there.
 *
 * @param workspace the UInt64 of the workspace, as decimal text; customers likewise
 */
export async function queuedReferences(
  redis: Redis,
  workspace: string,
  customers: readonly string[],
): Promise<QueuedReferences> {
  const isOne = new Set(customers);
  const [clickIds, eventNames, invoiceIds] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let chars = 0;
  for (const kind of ['lead', 'sale'] as const) {
    const ids = await jobIds(redis, kind);
    for (let start = 0; start < ids.length && chars < CHARS_MAX; start += JOBS_AT_ONCE) {
      const texts = await redis.mget(...ids.slice(start, start + JOBS_AT_ONCE).map((id) => rowsKey(kind, id)));
      for (const text of texts.map((one) => one ?? '')) {
        chars += text.length;
        if (!customers.some((number) => text.includes(number))) continue;
        for (const rowText of splitRows(text)) {
          const { workspaceId, customerId } = rowIds(kind, rowText) ?? {};
          if (workspaceId !== workspace || !isOne.has(customerId ?? '')) continue;
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
