import { QR_LEVELS, type QrLevel } from '@waymark/contract';
import { rounds } from '@waymark/test-kit';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import decodeQr from 'qr/decode.js';
import { describe, expect, it } from 'vitest';
import { type QrDrawing, renderQr } from '../../src/qr/render-qr.js';

const [WHITE, BLACK, RED] = [
  [255, 255, 255, 255],
  [0, 0, 0, 255],
  [255, 0, 0, 255],
] as const;
const SIDE = 64;
const LOGOS: readonly (readonly [string, QrDrawing['logo']])[] = [
  ['a red square', { width: SIDE, height: SIDE, colorAt: () => RED }],
  ['a white square', { width: SIDE, height: SIDE, colorAt: () => WHITE }],
  ['squares', { width: SIDE, height: SIDE, colorAt: (x, y) => (((x >> 3) + (y >> 3)) % 2 === 0 ? BLACK : WHITE) }],
];
/** How many of the logos each code is drawn with. In the short run they alternate, so that one logo is drawn with each level, margin and link. */
const LOGOS_OF_CODE = rounds(LOGOS.length, 1);
const MARGINS = [0, 2, 4, 12, 32];
/** Short links of 14 to 200 characters, which are codes of 25 to 77 modules. */
const LINKS = [14, 24, 36, 90, 200].map((length) =>
  'https://a.co/'.padEnd(length, 'Summer-2026_launch-of-the-new-catalogue.'),
);

/** What both decoders read. */
async function readBy(drawing: Partial<QrDrawing>): Promise<(string | undefined)[]> {
  const image = await renderQr({
    text: '',
    size: 300,
    level: 'L',
    margin: 2,
    foreground: BLACK,
    background: WHITE,
    logo: undefined,
    ...drawing,
  });
  const { width, height, data } = PNG.sync.read(image);
  const pixels = new Uint8ClampedArray(data);
  const other = () => {
    try {
      return decodeQr({ width, height, data: pixels });
    } catch {
      return undefined;
    }
  };
  return [jsQR.default(pixels, width, height)?.data, other()];
}

/** The links that a decoder does not read. */
async function unreadable(texts: readonly string[], drawing: Partial<QrDrawing>): Promise<string[]> {
  const unread: string[] = [];
  for (const text of texts) {
    const read = await readBy({ ...drawing, text });
    if (read.some((found) => found !== text)) unread.push(text);
  }
  return unread;
}

describe('a code with a logo can be read', () => {
  it.each(QR_LEVELS.flatMap((level) => MARGINS.map((margin): [QrLevel, number] => [level, margin])))(
    'with level %s and a margin of %i, whatever the length of the link',
    async (level, margin) => {
      const first = QR_LEVELS.indexOf(level) + MARGINS.indexOf(margin);
      for (const [index, [what, logo]] of LOGOS.entries()) {
        const links = LINKS.filter((_, link) => (first + link + index) % LOGOS.length < LOGOS_OF_CODE);
        expect([what, await unreadable(links, { level, margin, logo })]).toEqual([what, []]);
      }
    },
  );

  it('in large codes', async () => {
    const text = `https://a.co/?x=${'y'.repeat(1640)}`;
    for (const [what, logo] of LOGOS) expect([what, await unreadable([text], { size: 800, logo })]).toEqual([what, []]);
  });
});
