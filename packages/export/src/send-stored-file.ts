import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import { ApiError, entityTagsOf, type HttpRefusal, isNoneMatchHit } from '@waymark/contract';
import { onReplyClose } from '@waymark/http-kit';
import type { FastifyReply } from 'fastify';
import { closeIfUnread } from './close-if-unread.js';
import type { ExportSlot } from './export-slots.js';

/** Interval of the checks of a download, in milliseconds: its connection is closed when nothing was taken since the last check. */
const CHECK_EVERY_MS = 120_000;

/** A file on disk that never changes. */
export interface StoredFile {
  readonly path: string;
  /** The client saves the file under this name; letters, digits, `-` and `.` only. */
  readonly name: string;
  readonly contentType: string;
}

/** A range of the bytes of a file. */
interface Part {
  readonly start: number;
  /** Index of the last byte. */
  readonly end: number;
}

const RANGE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i;

/** An error with an HTTP status that the API has no code for. */
function refusal(message: string, http: HttpRefusal): ApiError {
  return new ApiError('unprocessable_entity', message, { http });
}

/**
 * The part that the header `Range` selects (RFC 9110, Range Requests). Malformed ranges, other units than bytes, and lists of ranges are
 * ignored.
 *
 * @returns undefined for the whole file
 * @throws ApiError 416 when the file ends before the range
 */
function partOf(range: string | undefined, size: number): Part | undefined {
  const [, first, last = '', suffix] = RANGE.exec(range?.trim() ?? '') ?? [];
  if (first === undefined && suffix === undefined) return undefined;
  const start = first === undefined ? Math.max(0, size - Number(suffix)) : Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  if (start < size) return { start, end };
  throw refusal(`The range is not in the file, which has ${size} bytes.`, {
    status: 416,
    headers: { 'content-range': `bytes */${size}` },
  });
}

type Conditions = Readonly<Record<'if-match' | 'if-none-match' | 'if-unmodified-since' | 'if-modified-since', string>>;

/**
 * Evaluates the conditional headers of a request, in the order of RFC 9110, Precedence of Preconditions.
 *
 * @param modifiedMs epoch milliseconds of a whole second, because dates in headers have no fractions
 * @returns whether the client has the file already (304)
 * @throws ApiError 412 when `If-Match` or `If-Unmodified-Since` excludes the file
 */
function isNotModified(conditions: Partial<Conditions>, etag: string, modifiedMs: number): boolean {
  const {
    'if-match': match,
    'if-none-match': noneMatch,
    'if-unmodified-since': unmodifiedSince,
    'if-modified-since': modifiedSince,
  } = conditions;
  const isOther =
    match === undefined
      ? modifiedMs > Date.parse(unmodifiedSince ?? '')
      : !entityTagsOf(match).some((tag) => tag === '*' || tag === etag);
  if (isOther) throw refusal('The file is not the one that the request is about.', { status: 412 });
  if (noneMatch !== undefined) return isNoneMatchHit(noneMatch, [etag]);
  return modifiedMs <= Date.parse(modifiedSince ?? '');
}

/** A stream of a part. It does not close the file, which the caller does when the response is closed. */
function bytesOf(file: FileHandle, part: Part): Readable {
  return part.end < part.start ? Readable.from([]) : file.createReadStream({ ...part, autoClose: false });
}

/** Limits of a download. */
export interface DownloadLimits {
  /** Takes a slot for the download, which is freed when the response has ended, for whatever reason. @throws ApiError 429 */
  readonly takeSlot: () => ExportSlot;
  /** Shortened by tests. */
  readonly checkEveryMs?: number;
}

/** Sends a body within the limits of a download. */
function sendBody(reply: FastifyReply, body: Readable, slot: ExportSlot, checkEveryMs: number): void {
  addAbortSignal(slot.signal, body);
  closeIfUnread(reply, checkEveryMs);
  // Without this header proxies would buffer the file and read it faster than the client.
  reply.header('x-accel-buffering', 'no').send(body);
}

/**
 * Sends a file with its entity tag, or the part that `Range` selects. The response to `HEAD` has the headers of the whole file.
 *
 * @returns whether there is such a file; the handler then returns `reply`. (A promise of `reply` would resolve only when it was sent,
 * because a reply of Fastify is itself a promise.)
 * @throws ApiError 412 or 416; 429 when there is no slot
 */
export async function sendStoredFile(
  reply: FastifyReply,
  { path, name, contentType }: StoredFile,
  { takeSlot, checkEveryMs = CHECK_EVERY_MS }: DownloadLimits,
): Promise<boolean> {
  const { method, headers } = reply.request;
  const file = await open(path).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return undefined;
    throw err;
  });
  if (file === undefined) return false;
  onReplyClose(reply, () => void file.close());
  const { size, mtimeMs } = await file.stat();
  // Strong: the bytes of a file never change.
  const etag = `"${size.toString(16)}-${Math.floor(mtimeMs).toString(16)}"`;
  const modifiedMs = Math.floor(mtimeMs / 1000) * 1000;
  const lastModified = new Date(modifiedMs).toUTCString();
  const validators = { etag, 'last-modified': lastModified };
  if (isNotModified(headers as Partial<Conditions>, etag, modifiedMs)) {
    reply.code(304).headers(validators).send();
    return true;
  }
  const ifRange = headers['if-range'];
  const isFresh = ifRange === undefined || ifRange === etag || ifRange === lastModified;
  const part = method === 'GET' && isFresh ? partOf(headers.range, size) : undefined;
  const { start, end } = part ?? { start: 0, end: size - 1 };
  const slot = method === 'HEAD' ? undefined : takeSlot();
  if (slot !== undefined) onReplyClose(reply, () => slot.free());
  reply
    .code(part === undefined ? 200 : 206)
    .headers(part === undefined ? validators : { ...validators, 'content-range': `bytes ${start}-${end}/${size}` })
    .header('accept-ranges', 'bytes')
    .header('content-length', end - start + 1)
    .header('content-type', contentType)
    .header('content-disposition', `attachment; filename="${name}"`);
  reply.request.streamBeganMs = reply.elapsedTime;
  if (slot === undefined) reply.send(Readable.from([]));
  else sendBody(reply, bytesOf(file, { start, end }), slot, checkEveryMs);
  return true;
}
