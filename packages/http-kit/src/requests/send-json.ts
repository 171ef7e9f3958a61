import type { FastifyReply } from 'fastify';
import { forEachYielding, mapYielding } from './yielding.js';

/** A JSON array of items that are serialized already. For 2 MB, writing them to a buffer is twice as fast as joining strings. */
export async function jsonArray(items: readonly string[]): Promise<Buffer> {
  let bytes = 1;
  await forEachYielding(items, (item) => {
    bytes += Buffer.byteLength(item) + 1;
  });
  const array = Buffer.allocUnsafe(Math.max(bytes, 2));
  let end = array.write('[');
  await forEachYielding(items, (item) => {
    end += array.write(item, end);
    end += array.write(',', end);
  });
  // Overwrites the last comma.
  array.write(']', array.length - 1);
  return array;
}

/**
 * Sends JSON that is serialized already, such as a page of stored event payloads. It is not checked against the response schema of the
 * route, so a test must do that.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}

/** Arrays of up to this many items are serialized without yielding to other requests, which is faster. */
const ITEMS_WITHOUT_YIELD = 50;

/** Serializes and sends a body, like {@link sendJsonText}. While it serializes the items of a long array, it yields to other requests. */
export async function sendJson(reply: FastifyReply, body: object | readonly object[]): Promise<FastifyReply> {
  if (!Array.isArray(body) || body.length <= ITEMS_WITHOUT_YIELD) return sendJsonText(reply, JSON.stringify(body));
  const texts = await mapYielding(body as readonly object[], (item) => JSON.stringify(item));
  return sendJsonText(reply, await jsonArray(texts));
}
