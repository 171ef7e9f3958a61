import { z } from 'zod';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { lastValue, queryBoolean, queryEnum, queryRounded, queryTextUpTo } from '../values/query-values.js';

/** Levels of error correction: about 7, 15, 25 and 30 per cent of the code may be covered or damaged. */
export const QR_LEVELS = ['L', 'M', 'Q', 'H'] as const;
export type QrLevel = (typeof QR_LEVELS)[number];

const COLOR_CHARS_MAX = 9;
const HEX = /^#?(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i;

const color = (standard: string) =>
  z.preprocess(
    lastValue,
    z.string().max(COLOR_CHARS_MAX).regex(HEX, 'must be a color of 3, 6 or 8 hexadecimal digits').default(standard),
  );

/**
 * Query of `GET /qr`. Unlike other queries it accepts unknown parameters: `url` is often not percent-encoded, so that its own parameters
 * become parameters of the request, and image viewers add more.
 */
export const qrQuerySchema = z.object({
  url: z
    .preprocess(lastValue, z.string().min(1).max(URL_CHARS_MAX))
    .describe('The text of the code, such as the address of a short link.'),
  size: queryRounded({ min: 16, max: 2048, default: 600 }).describe('Width and height in pixels, rounded.'),
  level: queryEnum(QR_LEVELS).describe(
    'Error correction: about 7 (`L`, the default), 15 (`M`), 25 (`Q`) or 30 (`H`) per cent of the code may be covered or damaged. A code with a logo has at least `Q`.',
  ),
  fgColor: color('#000000').describe('Colour of the modules, in hexadecimal digits.'),
  bgColor: color('#FFFFFF').describe('Colour of the background, in hexadecimal digits.'),
  margin: queryRounded({ min: 0, max: 32, default: 2 }).describe('Width of the quiet zone in modules, rounded.'),
  logo: queryTextUpTo(URL_CHARS_MAX).describe(
    'URL of a PNG for the middle of the code; for short links of workspaces on the plan `pro` or higher. The logo of the domain by default.',
  ),
  hideLogo: queryBoolean.describe('`true` leaves out the logo.'),
  includeMargin: queryBoolean.describe('Deprecated and without effect.'),
});
export type QrQuery = z.infer<typeof qrQuerySchema>;
