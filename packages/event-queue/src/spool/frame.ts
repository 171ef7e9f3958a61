import { crc32 } from 'node:zlib';
import { QUEUE_TABLES, type QueueKind } from '@waymark/event-format';
import { z } from 'zod';
import type { JobDraft } from '../queue/job-adder.js';
import type { BatchMarker } from './batch-markers.js';

/** A job of clicks in the spool, with the claims of its clicks. */
export interface SpoolEntry extends JobDraft {
  readonly marker: BatchMarker;
  /** The hourly claims of its clicks, as stored in Redis. */
  readonly claims: readonly { readonly name: string; readonly value: string }[];
  /** When the claims expire, epoch milliseconds. */
  readonly claimsUntil: number;
}

/** Fields that only a later release has are ignored: a spool file may be taken over by a process of the release before. */
const headerSchema = z.object({
  jobId: z.string().min(1),
  version: z.int().min(1),
  rowCount: z.int().min(0),
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  bytes: z.int().min(0),
  crc: z.int(),
  marker: z.object({ group: z.string(), bit: z.int().min(0) }),
  claims: z.array(z.object({ name: z.string(), value: z.string() })),
  claimsUntil: z.number(),
});

const NEWLINE = 10;
/** The line break before an entry, and the first bytes of its header. */
export const FRAME_START = Buffer.from('\n{"jobId":');

/** Serializes an entry: a header line of JSON with the rows' length and checksum, then the rows, then a line break. */
export function encodeFrame(entry: SpoolEntry): Buffer {
  const data = Buffer.from(entry.rows);
  const { rows: _, ...rest } = entry;
  const header = JSON.stringify({ ...rest, bytes: data.length, crc: crc32(data) });
  return Buffer.concat([Buffer.from(`${header}\n`), data, Buffer.from('\n')]);
}

/** The part of a header that tells where its entry ends. */
const sizeSchema = headerSchema.pick({ bytes: true });

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** An entry in the bytes of a spool file. */
interface Frame {
  readonly entry: SpoolEntry;
  /** Where the next frame begins. */
  readonly end: number;
}

/**
 * Parses the entry that begins at `start`.
 *
 * @param left bytes of the file from `start` on, of which `bytes` may have only the first ones
 * @returns `incomplete` if `bytes` ends before the entry does; `torn` if the file does; `unreadable` if bytes that the file has are no entry
 */
export function decodeFrame(bytes: Buffer, start: number, left: number): Frame | 'incomplete' | 'torn' | 'unreadable' {
  const headerEnd = bytes.indexOf(NEWLINE, start);
  if (headerEnd < 0) return bytes.length - start < left ? 'incomplete' : 'torn';
  const values = parseJson(bytes.toString('utf8', start, headerEnd));
  const size = sizeSchema.safeParse(values).data;
  if (size === undefined) return 'unreadable';
  const dataEnd = headerEnd + 1 + size.bytes;
  if (dataEnd - start >= left) return 'torn';
  const header = headerSchema.safeParse(values).data;
  if (header === undefined) return 'unreadable';
  if (dataEnd >= bytes.length) return 'incomplete';
  if (bytes[dataEnd] !== NEWLINE) return 'unreadable';
  const data = bytes.subarray(headerEnd + 1, dataEnd);
  if (crc32(data) !== header.crc) return 'unreadable';
  const { bytes: _, crc: __, ...rest } = header;
  return { entry: { ...rest, rows: data.toString('utf8') }, end: dataEnd + 1 };
}
