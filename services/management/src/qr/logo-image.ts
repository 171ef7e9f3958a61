import { type ApiError, fieldError } from '@waymark/contract';
import type { Outbound } from '@waymark/outbound';
import { PNG } from 'pngjs';
import type { Color } from './png.js';

const FETCH_MS_MAX = 3_000;
const IMAGE_BYTES_MAX = 512 * 1024;
const SIDE_PIXELS_MAX = 1024;
/** With 16 bits a channel, which take four times as long to unpack: the largest that a logo is drawn. */
const DEEP_SIDE_PIXELS_MAX = 512;
const DATA_URL = /^data:image\/png;base64,([A-Za-z0-9+/]+={0,2})$/;
/** Where the first chunk of a PNG says its width, height, bits a channel and whether it is interlaced. */
const HEADER_AT = { width: 16, height: 20, depth: 24, interlace: 28, end: 33 } as const;

/** An image to put into a code. */
export interface LogoImage {
  readonly width: number;
  readonly height: number;
  readonly colorAt: (x: number, y: number) => Color;
}

function invalid(rule: string, cause?: unknown): ApiError {
  return fieldError('invalid_value', 'logo', rule, 'unprocessable_entity', cause === undefined ? {} : { cause });
}

/** Read before anything is unpacked: a few bytes can claim to be an image of gigabytes. */
function checkHeader(bytes: Buffer): void {
  if (bytes.length < HEADER_AT.end || bytes.toString('latin1', 1, 4) !== 'PNG') throw invalid('must be a PNG image');
  const [width, height] = [bytes.readUInt32BE(HEADER_AT.width), bytes.readUInt32BE(HEADER_AT.height)];
  const isDeep = bytes[HEADER_AT.depth] === 16;
  const sideMax = isDeep ? DEEP_SIDE_PIXELS_MAX : SIDE_PIXELS_MAX;
  if (width === 0 || height === 0 || width > sideMax || height > sideMax) {
    const bits = isDeep ? ' with 16 bits a channel' : '';
    throw fieldError('too_big', 'logo', `must be at most ${sideMax} pixels wide and high${bits}`);
  }
  // Only of images that are not interlaced the unpacked size is known beforehand.
  if (bytes[HEADER_AT.interlace] !== 0) throw invalid('must not be interlaced');
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
 * The PNG image of a `data:` URL or of a public address.
 *
 * @throws ApiError unprocessable_entity for anything else; it does not say whether an address exists
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
