import { addAbortSignal, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as immediate } from 'node:timers/promises';
import { constants, createGzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import { ApiError } from '@waymark/contract';
import { onReplyClose } from '@waymark/http-kit';
import type { FastifyReply } from 'fastify';
import type { ExportSlot } from './export-slots.js';

/** Bytes that are buffered for a slow client before more are produced. */
const BUFFERED_BYTES = 256 * 1024;
/** The fastest level. The next one takes twice the time and saves a tenth of the bytes. */
const GZIP = { level: constants.Z_BEST_SPEED };

/** A response that is a file to save. */
export interface FileResponse {
  /** With extension; letters, digits, `-` and `.` only. */
  readonly name: string;
  readonly mediaType: string;
  /** Whether the file is compressed already, so that it is sent without gzip. */
  readonly isCompressed: boolean;
  readonly bytes: AsyncGenerator<Uint8Array>;
  /** HTTP trailers: functions that are called for the values when the body is complete. */
  readonly trailers: Readonly<Record<string, () => string>>;
  /** Freed when the response has ended, for whatever reason. */
  readonly slot: ExportSlot;
}

/** The bytes of a body whose first part was produced before the response began. */
async function* continued(
  first: IteratorResult<Uint8Array>,
  bytes: AsyncGenerator<Uint8Array>,
  slot: ExportSlot,
  onComplete: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await bytes.next()) {
      if (next.value.length > 0) yield next.value;
      // Without this, a client that reads fast would block all other requests.
      await immediate();
    }
    onComplete();
  } finally {
    await bytes.return(undefined);
    slot.free();
  }
}

/**
 * Sends a file while it is produced, no faster than the client reads. The first bytes are produced before anything is sent, so that an
 * error up to then becomes an error response. After a later error the connection is closed in the middle of the body, so that the file
 * does not look complete.
 *
 * @throws ApiError 400 for HTTP/1.0; what producing the first bytes throws
 */
export async function sendFile(
  reply: FastifyReply,
  { name, mediaType, isCompressed, bytes, trailers, slot }: FileResponse,
): Promise<FastifyReply> {
  const { headers, raw } = reply.request;
  // HTTP/1.0 has no chunked encoding: the body ends with the connection, so that a client could not detect a download that was cut off.
  if (raw.httpVersion === '1.0') {
    slot.free();
    throw new ApiError('bad_request', 'Exports need HTTP/1.1. A proxy in between may have to be configured to use it.');
  }
  let first: IteratorResult<Uint8Array>;
  try {
    first = await bytes.next();
  } catch (err) {
    slot.free();
    throw err;
  }
  // Fastify's `reply.trailer` is not used, because its `Trailer` header separates the names by spaces instead of commas.
  const addTrailers = () =>
    reply.raw.addTrailers(Object.fromEntries(Object.entries(trailers).map(([name, read]) => [name, read()])));
  const body = Readable.from(continued(first, bytes, slot, addTrailers), {
    objectMode: false,
    highWaterMark: BUFFERED_BYTES,
  });
  // If the client disconnects before the body is read, the generator never runs, so that its `finally` does not free the slot.
  onReplyClose(reply, () => {
    body.destroy();
    slot.free();
  });
  addAbortSignal(slot.signal, body);
  reply
    .header('content-type', mediaType)
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('vary', 'accept-encoding')
    // Without this header proxies would buffer the file and read it faster than the client.
    .header('x-accel-buffering', 'no');
  reply.request.streamBeganMs = reply.elapsedTime;
  const names = Object.keys(trailers);
  if (names.length > 0) reply.header('trailer', names.join(', '));
  if (isCompressed || negotiate(headers['accept-encoding']?.toLowerCase() ?? '', ['gzip', 'identity']) !== 'gzip') {
    return reply.send(body);
  }
  const gzip = createGzip(GZIP);
  // An error destroys both streams, and with them the response.
  pipeline(body, gzip).catch(() => undefined);
  return reply.header('content-encoding', 'gzip').send(gzip);
}
