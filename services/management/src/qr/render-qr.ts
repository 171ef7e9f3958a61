import { fieldError, QR_LEVELS, type QrLevel } from '@waymark/contract';
import encodeQr from 'qr';
import type { LogoImage } from './logo-image.js';
import { type Color, rgbaPng, twoColorPng } from './png.js';
import { darkShares } from './scaled-down.js';

const LEVELS = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const;
const BYTES_PER_PIXEL = 4;
/** A logo takes a quarter of the code's width, without the quiet zone. */
const LOGO_WIDTH_DIVISOR = 4;
/** The lowest level that corrects what a logo of that width covers, in codes of any size. */
const LOGO_LEVEL_MIN: QrLevel = 'Q';

/** A QR code to draw. */
export interface QrDrawing {
  /** The content of the code. */
  readonly text: string;
  /** Width and height of the image in pixels. */
  readonly size: number;
  /** At least; a logo raises it to the level that corrects what the logo covers. */
  readonly level: QrLevel;
  readonly foreground: Color;
  readonly background: Color;
  /** Quiet zone in modules. */
  readonly margin: number;
  readonly logo: LogoImage | undefined;
}

/** Parses `#rgb`, `#rrggbb` or `#rrggbbaa`, with or without `#`. */
export function parseColor(text: string): Color {
  const digits = text.replace('#', '');
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  const [red = 0, green = 0, blue = 0, alpha = 255] = (full.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  );
  return [red, green, blue, alpha];
}

/** The level of a code with a logo. */
function levelUnderLogo(level: QrLevel): QrLevel {
  return QR_LEVELS.indexOf(level) < QR_LEVELS.indexOf(LOGO_LEVEL_MIN) ? LOGO_LEVEL_MIN : level;
}

/** The modules of a code by row; true = dark. */
type Modules = readonly (readonly boolean[])[];

/** @throws ApiError unprocessable_entity for a text that is too long for a QR code */
function modulesOf({ text, level, logo }: QrDrawing): Modules {
  try {
    // The library adds at least one module of quiet zone, which is removed here.
    const rows = encodeQr(text, 'raw', {
      ecc: LEVELS[logo === undefined ? level : levelUnderLogo(level)],
      encoding: 'byte',
      border: 1,
    });
    return rows.slice(1, -1).map((row) => row.slice(1, -1));
  } catch (cause) {
    const rule = `must not be longer than a QR code${logo === undefined ? '' : ' with a logo'} can hold`;
    throw fieldError('too_big', 'url', rule, 'unprocessable_entity', { cause });
  }
}

interface PixelRows {
  readonly size: number;
  /** Width of a module in pixels. */
  readonly scale: number;
  /** A row of background pixels, starting with a 0 byte. */
  readonly lightRow: Buffer;
  /** Draws a dark pixel. @param rowAt byte offset of its row */
  readonly darken: (rows: Buffer, rowAt: number, x: number) => void;
}

/**
 * All pixel rows of the image. A module has `scale` by `scale` pixels; pixels that remain widen the margin. Each row of modules is drawn
 * once, then copied.
 */
function pixelRows(modules: Modules, { size, scale, lightRow, darken }: PixelRows): Buffer {
  const rowBytes = lightRow.length;
  const rows = Buffer.alloc(size * rowBytes, lightRow);
  const start = Math.floor((size - modules.length * scale) / 2);
  modules.forEach((row, index) => {
    const first = (start + index * scale) * rowBytes;
    row.forEach((isDark, column) => {
      if (!isDark) return;
      const left = start + column * scale;
      for (let x = left; x < left + scale; x++) darken(rows, first, x);
    });
    for (let copy = 1; copy < scale; copy++) rows.copyWithin(first + copy * rowBytes, first, first + rowBytes);
  });
  return rows;
}

function twoColorRows(modules: Modules, size: number, scale: number): Buffer {
  return pixelRows(modules, {
    size,
    scale,
    lightRow: Buffer.alloc(1 + Math.ceil(size / 8)),
    darken(rows, rowAt, x) {
      const at = rowAt + 1 + (x >> 3);
      rows[at] = (rows[at] ?? 0) | (0x80 >> (x & 7));
    },
  });
}

function paint(rows: Buffer, at: number, [red, green, blue, alpha]: Color): void {
  rows[at] = red;
  rows[at + 1] = green;
  rows[at + 2] = blue;
  rows[at + 3] = alpha;
}

const rgbaRowBytes = (size: number) => 1 + size * BYTES_PER_PIXEL;
const rgbaAt = (size: number, x: number, y: number) => y * rgbaRowBytes(size) + 1 + x * BYTES_PER_PIXEL;

function rgbaRows(modules: Modules, scale: number, { size, foreground, background }: QrDrawing): Buffer {
  const lightRow = Buffer.alloc(rgbaRowBytes(size));
  for (let x = 0; x < size; x++) paint(lightRow, rgbaAt(size, x, 0), background);
  return pixelRows(modules, {
    size,
    scale,
    lightRow,
    darken: (rows, rowAt, x) => paint(rows, rowAt + rgbaAt(size, x, 0), foreground),
  });
}

/** The weighted average of two colors, with the given opacity. */
function weightedColor(one: Color, weight: number, other: Color, rest: number, alpha: number): Color {
  const all = weight + rest || 1;
  return [
    Math.round((one[0] * weight + other[0] * rest) / all),
    Math.round((one[1] * weight + other[1] * rest) / all),
    Math.round((one[2] * weight + other[2] * rest) / all),
    Math.round(alpha),
  ];
}

/** The color of a pixel that is covered by two colors, the first for `share` of its area. */
function mixColors(one: Color, share: number, other: Color): Color {
  const [weight, rest] = [one[3] * share, other[3] * (1 - share)];
  return weightedColor(one, weight, other, rest, weight + rest);
}

/** Pixel rows for an image with fewer pixels than modules, including the quiet zone. */
function scaledDownRows(modules: Modules, { size, margin, foreground, background }: QrDrawing): Buffer {
  const shareAt = darkShares(size, modules.length + 2 * margin, (x, y) => modules[y - margin]?.[x - margin] ?? false);
  const rows = Buffer.alloc(size * rgbaRowBytes(size));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) paint(rows, rgbaAt(size, x, y), mixColors(foreground, shareAt(x, y), background));
  }
  return rows;
}

/** The color of a pixel of the logo on the background. */
function blend(over: Color, under: Color): Color {
  return weightedColor(over, over[3], under, 255 - over[3], Math.max(over[3], under[3]));
}

/** Draws the logo in the middle, on the background color. @param codePixels width of the code without its quiet zone */
function paintLogo(rows: Buffer, { size, background }: QrDrawing, logo: LogoImage, codePixels: number): void {
  const box = Math.max(1, Math.floor(codePixels / LOGO_WIDTH_DIVISOR));
  const scale = box / Math.max(logo.width, logo.height);
  const [width, height] = [Math.max(1, Math.round(logo.width * scale)), Math.max(1, Math.round(logo.height * scale))];
  const [left, top] = [Math.floor((size - width) / 2), Math.floor((size - height) / 2)];
  for (let y = 0; y < height; y++) {
    const row = Math.min(logo.height - 1, Math.floor(((y + 0.5) * logo.height) / height));
    for (let x = 0; x < width; x++) {
      const column = Math.min(logo.width - 1, Math.floor(((x + 0.5) * logo.width) / width));
      paint(rows, rgbaAt(size, left + x, top + y), blend(logo.colorAt(column, row), background));
    }
  }
}

/**
 * Draws the code as PNG, scaled down when it has more modules than pixels.
 *
 * @throws ApiError unprocessable_entity when the text is too long
 */
export async function renderQr(drawing: QrDrawing): Promise<Buffer> {
  const { size, margin, logo, foreground, background } = drawing;
  const modules = modulesOf(drawing);
  const scale = Math.floor(size / (modules.length + 2 * margin));
  if (scale > 0 && logo === undefined) {
    return twoColorPng(size, twoColorRows(modules, size, scale), [background, foreground]);
  }
  const rows = scale > 0 ? rgbaRows(modules, scale, drawing) : scaledDownRows(modules, drawing);
  const pixelsPerModule = scale || size / (modules.length + 2 * margin);
  if (logo !== undefined) paintLogo(rows, drawing, logo, modules.length * pixelsPerModule);
  return rgbaPng(size, rows);
}
