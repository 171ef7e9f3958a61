import { type ApiError, fieldError } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import { PNG } from 'pngjs';
import type { Color } from './png.js';

const FETCH_MS_MAX = 3_000;
const IMAGE_BYTES_MAX = 512 * 1024;
const SIDE_PIXELS_MAX = 1024;
/** Limit for 16 bits per channel, which take four times as long to decode. Logos are never drawn larger than this. */
const DEEP_SIDE_PIXELS_MAX = 512;
const DATA_URL = /^data:image\/png;base64,([A-Za-z0-9+/]+={0,2})$/;
/** Byte offsets of fields in the first chunk of a PNG. */
const HEADER_OFFSETS = { width: 16, height: 20, depth: 24, interlace: 28, end: 33 } as const;
/** Byte offset of the first chunk, after the signature. */
const FIRST_CHUNK = 8;
/** A chunk has its length, its type, its data and a checksum. */
const [LENGTH_BYTES, TYPE_BYTES, CHECKSUM_BYTES] = [4, 4, 4];

/** A decoded image. */
export interface LogoImage {
  readonly width: number;
  readonly height: number;
  /** The color of a pixel; (0, 0) is the top left one. */
  readonly colorAt: (x: number, y: number) => Color;
}

function invalid(rule: string, cause?: unknown): ApiError {
  return fieldError('invalid_value', 'logo', rule, 'unprocessable_entity', cause === undefined ? {} : { cause });
}

/** The types of the chunks of a PNG, such as `IHDR`. */
function* chunkTypes(bytes: Buffer): Generator<string> {
  const headBytes = LENGTH_BYTES + TYPE_BYTES;
  for (let start = FIRST_CHUNK; start + headBytes <= bytes.length; ) {
    yield bytes.toString('latin1', start + LENGTH_BYTES, start + headBytes);
    start += headBytes + bytes.readUInt32BE(start) + CHECKSUM_BYTES;
  }
}

/** Validates the size before decoding: a few bytes can decode to gigabytes. */
function checkHeader(bytes: Buffer): void {
  if (bytes.length < HEADER_OFFSETS.end || bytes.toString('latin1', 1, 4) !== 'PNG')
    throw invalid('must be a PNG image');
  // With several headers the decoder would use the last one, which was not checked.
  const [first, ...others] = chunkTypes(bytes);
  if (first !== 'IHDR' || others.includes('IHDR')) throw invalid('must have exactly one header, at its beginning');
  const [width, height] = [bytes.readUInt32BE(HEADER_OFFSETS.width), bytes.readUInt32BE(HEADER_OFFSETS.height)];
  const isDeep = bytes[HEADER_OFFSETS.depth] === 16;
  const sideMax = isDeep ? DEEP_SIDE_PIXELS_MAX : SIDE_PIXELS_MAX;
  if (width === 0 || height === 0 || width > sideMax || height > sideMax) {
    const bits = isDeep ? ' with 16 bits a channel' : '';
    throw fieldError('too_big', 'logo', `must be at most ${sideMax} pixels wide and high${bits}`);
  }
  // The decoded size of interlaced images is not known in advance.
  if (bytes[HEADER_OFFSETS.interlace] !== 0) throw invalid('must not be interlaced');
}

function decode(bytes: Buffer): LogoImage {
  checkHeader(bytes);
  try {
    const { width, height, data } = PNG.sync.read(bytes);
    const colorAt = (x: number, y: number): Color => {
      const at = (y * width + x) * 4;
      return [data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0, data[at + 3] ?? 0];
    };
    return { width, height, colorAt };
  } catch (err) {
    throw invalid('must not be a damaged image', err);
  }
}

/**
 * Loads a PNG image from a `data:` URL or a public URL.
 *
 * @throws ApiError unprocessable_entity for any failure; it does not reveal whether a URL exists
 */
export async function loadLogo(outbound: Outbound, source: string): Promise<LogoImage> {
  const inline = DATA_URL.exec(source)?.[1];
  if (inline !== undefined) return decode(Buffer.from(inline, 'base64'));
  const answer = await outbound
    .send({
      method: 'GET',
      url: source,
      headers: { accept: 'image/png' },
      timeoutMs: FETCH_MS_MAX,
      responseBytesMax: IMAGE_BYTES_MAX,
    })
    .catch((err: unknown) => {
      throw invalid('could not be fetched', err);
    });
  if (answer.status !== 200) throw invalid('could not be fetched');
  if (answer.isTruncated) throw fieldError('too_big', 'logo', `must have at most ${IMAGE_BYTES_MAX} bytes`);
  return decode(answer.body);
}
