import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const compress = promisify(deflate);

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOR_TYPE = { palette: 3, rgba: 6 } as const;

/** Red, green, blue and opacity, from 0 to 255 each. */
export type Color = readonly [number, number, number, number];

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

function header(size: number, bitDepth: number, colorType: number): Buffer {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(size, 0);
  data.writeUInt32BE(size, 4);
  data.writeUInt8(bitDepth, 8);
  data.writeUInt8(colorType, 9);
  return chunk('IHDR', data);
}

/** Encodes a square image with two colors. @param rows one bit per pixel, 1 for the second color; each row starts with a 0 byte */
export async function twoColorPng(size: number, rows: Buffer, colors: readonly [Color, Color]): Promise<Buffer> {
  const palette = Buffer.from(colors.flatMap((color) => color.slice(0, 3)));
  const opacity = Buffer.from(colors.map(([, , , alpha]) => alpha));
  return Buffer.concat([
    SIGNATURE,
    header(size, 1, COLOR_TYPE.palette),
    chunk('PLTE', palette),
    chunk('tRNS', opacity),
    chunk('IDAT', await compress(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Encodes a square RGBA image. @param rows four bytes per pixel; each row starts with a 0 byte */
export async function rgbaPng(size: number, rows: Buffer): Promise<Buffer> {
  return Buffer.concat([
    SIGNATURE,
    header(size, 8, COLOR_TYPE.rgba),
    chunk('IDAT', await compress(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
