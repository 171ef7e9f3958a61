import { crc32 } from 'node:zlib';
import { QUEUE_TABLES, type QueueKind } from '@waymark/clickhouse';
import { z } from 'zod';

/** A whole job on its way to the queue, and the claims it makes final. */
export interface SpoolEntry {
  readonly jobId: string;
  readonly kind: QueueKind;
  /** Job data, as in the queue. */
  readonly data: string;
  readonly finals: readonly SpooledFinal[];
}

/** A click's claim: as stored, until when (epoch milliseconds). */
export interface SpooledFinal {
  readonly name: string;
  readonly value: string;
  readonly expiresAt: number;
}

const headerSchema = z.strictObject({
  jobId: z.string().min(1),
  kind: z.enum(Object.keys(QUEUE_TABLES) as [QueueKind, ...QueueKind[]]),
  bytes: z.int().min(0),
  crc: z.int(),
  finals: z.array(z.strictObject({ name: z.string(), value: z.string(), expiresAt: z.number() })),
});

const NEWLINE = 10;
const FRAME_START = Buffer.from('\n{"jobId":');

/** One entry as bytes: a line of JSON that announces length and checksum, then the job data, then a line break. */
export function encodeFrame(entry: SpoolEntry): Buffer {
  const data = Buffer.from(entry.data);
  const { jobId, kind, finals } = entry;
  const header = JSON.stringify({ jobId, kind, bytes: data.length, crc: crc32(data), finals });
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
  const { jobId, kind, finals } = header;
  return { entry: { jobId, kind, data: data.toString('utf8'), finals }, end: dataEnd + 1 };
}

export interface DecodedFrames {
  readonly entries: readonly SpoolEntry[];
  /** Bytes that are no entry. At the end of a file: what a kill tore off, acknowledged to nobody. */
  readonly tornBytes: number;
  /** The same in the middle of a file: the disk has changed what was written. */
  readonly damagedBytes: number;
}

/** Reads every entry of a file. */
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
