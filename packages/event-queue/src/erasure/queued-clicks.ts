import { type EventRow, type EventTableKind, rowIds } from '@waymark/event-format';
import type { Redis } from 'ioredis';
import { splitRows } from '../queue/job-rows.js';
import { queueKey, rowsKey } from '../queue/keys.js';

const JOBS_AT_ONCE = 100;
/** In the backlog of an outage the writer finds the rest, when it comes to those rows. */
const CHARS_MAX = 64_000_000;
const CLICK_POSITION = 6;

/** The click that a row of a lead or sale names. */
export function clickBehind(row: string): string {
  return String((JSON.parse(row) as EventRow)[CLICK_POSITION] ?? '');
}

async function jobIds(redis: Redis, kind: EventTableKind): Promise<string[]> {
  const [active, waiting, delayed] = await Promise.all([
    redis.lrange(queueKey(kind, 'active'), 0, -1),
    redis.lrange(queueKey(kind, 'wait'), 0, -1),
    redis.zrange(queueKey(kind, 'delayed'), '0', '-1'),
  ]);
  return [...active, ...waiting, ...delayed];
}

/**
 * The ids of the clicks that queued leads and sales of customers name: without them, those clicks would be stored and sent to webhooks
 * before the writer comes to the leads. Read it before the tables, so that a row that leaves the queue in between is found there.
 *
 * @param workspace the UInt64 of the workspace, as decimal text; customers likewise
 */
export async function queuedClicks(redis: Redis, workspace: string, customers: readonly string[]): Promise<string[]> {
  const isOne = new Set(customers);
  const found = new Set<string>();
  let chars = 0;
  for (const kind of ['lead', 'sale'] as const) {
    const ids = await jobIds(redis, kind);
    for (let start = 0; start < ids.length && chars < CHARS_MAX; start += JOBS_AT_ONCE) {
      const texts = await redis.mget(...ids.slice(start, start + JOBS_AT_ONCE).map((id) => rowsKey(kind, id)));
      for (const text of texts.map((one) => one ?? '')) {
        chars += text.length;
        if (!customers.some((number) => text.includes(number))) continue;
        for (const row of splitRows(text)) {
          const { workspaceId, customerId } = rowIds(kind, row) ?? {};
          if (workspaceId === workspace && isOne.has(customerId ?? '')) found.add(clickBehind(row));
        }
      }
    }
  }
  return [...found];
}
