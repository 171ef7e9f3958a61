import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as immediate } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { onReplyClose } from './on-reply-close.js';
import { forEachYielding, mapYielding } from './yielding.js';

/** A JSON array of items that are serialized already. For 2 MB, writing them to a buffer is twice as fast as joining strings. */
async function jsonArray(items: readonly string[]): Promise<Buffer> {
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

/** Arrays of up to this many characters are one buffer, which is faster. A page of 100 events usually has a sixth of it. */
const WHOLE_CHARS_MAX = 1_000_000;
/** Characters of a longer array that are written at a time; the last item may exceed this number. */
const PART_CHARS = 64 * 1024;
/** Bytes that are buffered for a slow client before more are produced. */
const BUFFERED_BYTES = 256 * 1024;

/**
 * The bytes of an array, part by part. Writing a text flattens it: V8 copies into it all strings of which it was concatenated, and keeps that
 * copy as long as the text. So no item is written itself, but a concatenation that is dropped at once: items go on sharing their parts.
 */
async function* partsOf(groups: AsyncIterable<readonly string[]>): AsyncGenerator<Buffer> {
  let text = '';
  let separator = '[';
  for await (const items of groups) {
    for (const item of items) {
      text += separator + item;
      separator = ',';
      if (text.length < PART_CHARS) continue;
      yield Buffer.from(text);
      text = '';
      // Without this, a client that reads fast would block all other requests.
      await immediate();
    }
  }
  yield Buffer.from(`${text}${separator === '[' ? '[' : ''}]`);
}

/** Bodies that are produced while they are sent. */
const inParts = new WeakSet<object>();
/** The responses that have such bodies. */
const responsesInParts = new WeakSet<ServerResponse>();

/** Whether the body of a response is one of {@link jsonItems} that is produced while it is sent, no faster than its client reads. */
export const isInParts = (body: unknown): body is Readable =>
  typeof body === 'object' && body !== null && inParts.has(body);

/** Whether the body of the response is produced while it is sent, so that its client decides how long that takes. */
export const isSentInParts = (response: ServerResponse): boolean => responsesInParts.has(response);

/**
 * A JSON array of items that are serialized already, and come in groups. A short one is a buffer. A longer one is produced while it is sent, no
 * faster than the client reads; then only what is being sent is in memory beside the items, which may share most of their text with each other.
 *
 * @param groups read on demand, for as long as the client takes to read. If one cannot be read after the response has begun, the connection is
 *   closed in the middle of the array.
 * @throws what the first groups throw
 */
export async function jsonItems(groups: AsyncIterable<readonly string[]>): Promise<Buffer | Readable> {
  const iterator = groups[Symbol.asyncIterator]();
  const first: string[] = [];
  let chars = 0;
  while (chars <= WHOLE_CHARS_MAX) {
    const next = await iterator.next();
    if (next.done === true) return jsonArray(first);
    for (const item of next.value) chars += item.length;
    first.push(...next.value);
  }
  async function* all() {
    yield first;
    // The texts that only these items share are not needed any more.
    first.length = 0;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  const body = Readable.from(partsOf(all()), { objectMode: false, highWaterMark: BUFFERED_BYTES });
  inParts.add(body);
  return body;
}

/**
 * Sends JSON that is serialized already, such as a page of stored event payloads. It is not checked against the response schema of the
 * route, so a test must do that.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer | Readable): FastifyReply {
  if (isInParts(text)) {
    reply.request.streamBeganMs = reply.elapsedTime;
    responsesInParts.add(reply.raw);
    // Also after a HEAD request, whose response is complete without the body, and for one that still waits behind another of its connection.
    onReplyClose(reply, () => text.destroy());
  }
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}

/** Arrays of up to this many items are serialized without yielding to other requests, which is faster. */
const ITEMS_WITHOUT_YIELD = 50;
/** Items of a longer array that are serialized at a time. */
const GROUP_ITEMS = 100;

async function* serialized(items: readonly object[]): AsyncGenerator<readonly string[]> {
  for (let start = 0; start < items.length; start += GROUP_ITEMS) {
    yield await mapYielding(items.slice(start, start + GROUP_ITEMS), (item) => JSON.stringify(item));
  }
}

/**
 * Serializes and sends a body, like {@link sendJsonText}. While it serializes the items of a long array, it yields to other requests, and
 * it serializes no faster than the client reads.
 */
export async function sendJson(reply: FastifyReply, body: object | readonly object[]): Promise<FastifyReply> {
  if (!Array.isArray(body) || body.length <= ITEMS_WITHOUT_YIELD) return sendJsonText(reply, JSON.stringify(body));
  return sendJsonText(reply, await jsonItems(serialized(body as readonly object[])));
}
