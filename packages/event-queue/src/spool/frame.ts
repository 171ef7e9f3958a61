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

const headerSchema = z.strictObject({
  jobId: z.string().min(1),
  version: z.int().min(1),
  rowCount: z.int().min(0),
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  bytes: z.int().min(0),
  crc: z.int(),
  marker: z.strictObject({ group: z.string(), bit: z.int().min(0) }),
  claims: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  claimsUntil: z.number(),
});

const NEWLINE = 10;
const FRAME_START = Buffer.from('\n{"jobId":');

/** Serializes an entry: a header line of JSON with the rows' length and checksum, then the rows, then a line break. */
export function encodeFrame(entry: SpoolEntry): Buffer {
  const data = Buffer.from(entry.rows);
  const { rows: _, ...rest } = entry;
  const header = JSON.stringify({ ...rest, bytes: data.length, crc: crc32(data) });
  return Buffer.concat([Buffer.from(`${header}\n`), data, Buffer.from('\n')]);
}

function readHeader(line: string): z.infer<typeof headerSchema> | undefined {
  try {
    return headerSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

interface Frame {
  readonly entry: SpoolEntry;
  readonly end: number;
}

function readFrame(bytes: Buffer, start: number): Frame | undefined {
  const headerEnd = bytes.indexOf(NEWLINE, start);
  const header = headerEnd < 0 ? undefined : readHeader(bytes.toString('utf8', start, headerEnd));
  if (header === undefined) return undefined;
  const dataEnd = headerEnd + 1 + header.bytes;
  if (bytes[dataEnd] !== NEWLINE) return undefined;
  const data = bytes.subarray(headerEnd + 1, dataEnd);
  if (crc32(data) !== header.crc) return undefined;
  const { bytes: _, crc: __, ...rest } = header;
  return { entry: { ...rest, rows: data.toString('utf8') }, end: dataEnd + 1 };
}

/** The content of a spool file. */
export interface DecodedFrames {
  readonly entries: readonly SpoolEntry[];
  /** Invalid bytes at the end of the file: an entry whose write was interrupted, so that it was never acknowledged. */
  readonly tornBytes: number;
  /** Invalid bytes in the middle of the file: corruption on disk. */
  readonly damagedBytes: number;
}

/** Parses every entry of a file. */
export function decodeFrames(bytes: Buffer): DecodedFrames {
  const entries: SpoolEntry[] = [];
  let damagedBytes = 0;
  let position = 0;
  while (position < bytes.length) {
    const frame = readFrame(bytes, position);
    if (frame !== undefined) {
      entries.push(frame.entry);
      position = frame.end;
      continue;
    }
    const next = bytes.indexOf(FRAME_START, position);
    if (next < 0) return { entries, tornBytes: bytes.length - position, damagedBytes };
    damagedBytes += next + 1 - position;
    position = next + 1;
  }
  return { entries, tornBytes: 0, damagedBytes };
}
