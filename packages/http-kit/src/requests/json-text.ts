import type { FastifyReply } from 'fastify';

/** An array of items that are JSON already. They are written one by one: joined as strings, two megabytes take twice as long. */
export function jsonArray(items: readonly string[]): Buffer {
  const bytes = items.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 1);
  const array = Buffer.allocUnsafe(Math.max(bytes, 2));
  let end = array.write('[');
  for (const item of items) {
    end += array.write(item, end);
    end += array.write(',', end);
  }
  // In the place of the last comma.
  array.write(']', array.length - 1);
  return array;
}

/**
 * Sends JSON that is text already, such as a page of events spliced from stored payloads. It is not checked against the
 * response schema of the route, so a test has to.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
