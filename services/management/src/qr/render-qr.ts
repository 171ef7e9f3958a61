import { fieldError, type QrLevel } from '@waymark/contract';
import qrcode from 'qrcode-generator';
import type { LogoImage } from './logo-image.js';
import { type Color, rgbaPng, twoColorPng } from './png.js';
import { darkShares } from './scaled-down.js';

// The library's own only knows Latin letters.
qrcode.stringToBytes = (text) => [...Buffer.from(text, 'utf8')];

const BYTES_PER_PIXEL = 4;
/** Part of the code's width that a logo takes. */
const LOGO_SHARE = 4;

export interface QrDrawing {
  /** What a reader of the code gets to see. */
  readonly text: string;
  readonly size: number;
  readonly level: QrLevel;
  readonly foreground: Color;
  readonly background: Color;
  /** Quiet zone in modules. */
  readonly margin: number;
  readonly logo: LogoImage | undefined;
}

/** `#rgb`, `#rrggbb` or `#rrggbbaa`, with or without `#`. */
export function parseColor(text: string): Color {
  const digits = text.replace('#', '');
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  const [red = 0, green = 0, blue = 0, alpha = 255] = (full.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  );
  return [red, green, blue, alpha];
}

const tooLong = (cause?: unknown) =>
  fieldError('too_big', 'url', 'must not be longer than a QR code can hold', 'unprocessable_entity', { cause });

/** What the largest code holds at the lowest level of correction (ISO/IEC 18004, table 7). */
const QR_BYTES_MAX = 2953;

/** @throws ApiError unprocessable_entity for a text that no code can hold */
function modulesOf(text: string, level: QrLevel) {
  // Before the library tries all sizes of code, which takes a tenth of a second.
  if (Buffer.byteLength(text) > QR_BYTES_MAX) throw tooLong();
  const code = qrcode(0, level);
  code.addData(text, 'Byte');
  try {
    code.make();
  } catch (err) {
    throw tooLong(err);
  }
  return code;
}

type Code = ReturnType<typeof modulesOf>;

/** Which pixels are dark, for modules of `scale` whole pixels; what is left over of `size` widens the margin. */
function darkPixels(code: Code, size: number, scale: number): (x: number, y: number) => boolean {
  const count = code.getModuleCount();
  const start = Math.floor((size - count * scale) / 2);
  const moduleAt = (pixel: number) => Math.floor((pixel - start) / scale);
  const isInside = (module: number) => module >= 0 && module < count;
  return (x, y) => {
    const [column, row] = [moduleAt(x), moduleAt(y)];
    return isInside(column) && isInside(row) && code.isDark(row, column);
  };
}

function twoColorRows(size: number, isDark: (x: number, y: number) => boolean): Buffer {
  const rowBytes = 1 + Math.ceil(size / 8);
  const rows = Buffer.alloc(size * rowBytes);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (!isDark(x, y)) continue;
      const at = y * rowBytes + 1 + (x >> 3);
      rows[at] = (rows[at] ?? 0) | (0x80 >> (x & 7));
    }
  }
  return rows;
}

function blend(over: Color, under: Color): Color {
  const share = over[3] / 255;
  const mix = (index: 0 | 1 | 2) => Math.round(over[index] * share + under[index] * (1 - share));
  return [mix(0), mix(1), mix(2), Math.max(over[3], under[3])];
}

/** The color of the logo at a pixel of the code; undefined beside it. The background is cleared behind it. */
function logoAt({ size, background }: QrDrawing, logo: LogoImage): (x: number, y: number) => Color | undefined {
  const box = Math.floor(size / LOGO_SHARE);
  const scale = box / Math.max(logo.width, logo.height);
  const [width, height] = [Math.max(1, Math.round(logo.width * scale)), Math.max(1, Math.round(logo.height * scale))];
  const [left, top] = [Math.floor((size - width) / 2), Math.floor((size - height) / 2)];
  return (x, y) => {
    if (x < left || y < top || x >= left + width || y >= top + height) return undefined;
    const column = Math.min(logo.width - 1, Math.floor(((x - left + 0.5) * logo.width) / width));
    const row = Math.min(logo.height - 1, Math.floor(((y - top + 0.5) * logo.height) / height));
    return blend(logo.colorAt(column, row), background);
  };
}

/** A pixel of which a share has the one color and the rest the other. */
function mixed(one: Color, share: number, other: Color): Color {
  const [weight, rest] = [one[3] * share, other[3] * (1 - share)];
  const mix = (index: 0 | 1 | 2) => Math.round((one[index] * weight + other[index] * rest) / (weight + rest || 1));
  return [mix(0), mix(1), mix(2), Math.round(weight + rest)];
}

function rgbaRows(drawing: QrDrawing, colorOfCode: (x: number, y: number) => Color): Buffer {
  const { size, logo } = drawing;
  const colorOfLogo = logo === undefined ? () => undefined : logoAt(drawing, logo);
  const rowBytes = 1 + size * BYTES_PER_PIXEL;
  const rows = Buffer.alloc(size * rowBytes);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      rows.set(colorOfLogo(x, y) ?? colorOfCode(x, y), y * rowBytes + 1 + x * BYTES_PER_PIXEL);
    }
  }
  return rows;
}

/** The code as PNG, drawn small when it has more modules than pixels. @throws ApiError unprocessable_entity for its text */
export function renderQr(drawing: QrDrawing): Promise<Buffer> {
  const { text, level, size, margin, logo, foreground, background } = drawing;
  const code = modulesOf(text, level);
  const modules = code.getModuleCount() + 2 * margin;
  const scale = Math.floor(size / modules);
  if (scale === 0) {
    const shareAt = darkShares(size, modules, darkPixels(code, modules, 1));
    return rgbaPng(
      size,
      rgbaRows(drawing, (x, y) => mixed(foreground, shareAt(x, y), background)),
    );
  }
  const isDark = darkPixels(code, size, scale);
  return logo === undefined
    ? twoColorPng(size, twoColorRows(size, isDark), [background, foreground])
    : rgbaPng(
        size,
        rgbaRows(drawing, (x, y) => (isDark(x, y) ? foreground : background)),
      );
}
