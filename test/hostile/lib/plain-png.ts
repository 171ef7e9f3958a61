import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The filter that is slowest to decode: each row as the difference from its neighbours. */
const PAETH = 4;
const RGBA = 6;

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A square PNG image of one color: few bytes that decode to many. */
export function plainPng(side: number, bitsAChannel: 8 | 16): Buffer {
  const row = Buffer.alloc(1 + (side * 4 * bitsAChannel) / 8);
  row[0] = PAETH;
  row.fill(255, 1, 1 + bitsAChannel / 2);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([bitsAChannel, RGBA], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(row.length * side, row))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
