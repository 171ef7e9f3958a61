import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';

/** Characters that are written at a time, in a few milliseconds, before other requests have a turn. */
const CHARS_AT_ONCE = 2_000_000;

/** Calls `work` with each item, and lets other requests have a turn in between when the items are large. */
async function forEachInTurns(items: readonly string[], work: (item: string) => void): Promise<void> {
  let chars = 0;
  for (const item of items) {
    work(item);
    chars += item.length;
    if (chars < CHARS_AT_ONCE) continue;
    chars = 0;
    await nextTurn();
  }
}

/** A JSON array of items that are serialized already. Writing them to a buffer is twice as fast as joining strings (2 MB). */
export async function jsonArray(items: readonly string[]): Promise<Buffer> {
  let bytes = 1;
  await forEachInTurns(items, (item) => {
    bytes += Buffer.byteLength(item) + 1;
  });
  const array = Buffer.allocUnsafe(Math.max(bytes, 2));
  let end = array.write('[');
  await forEachInTurns(items, (item) => {
    end += array.write(item, end);
    end += array.write(',', end);
  });
  // Overwrites the last comma.
  array.write(']', array.length - 1);
  return array;
}

/**
 * Sends JSON that is serialized already, such as a page of stored event payloads. The response schema of the route does not check
 * it, so a test must.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
