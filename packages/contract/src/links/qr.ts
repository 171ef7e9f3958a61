import { z } from 'zod';
import { URL_CHARS_MAX } from '../values/parse-url.js';
import { lastValue, queryBoolean, queryEnum, queryInteger, queryTextUpTo } from '../values/query-values.js';

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
  url: z.preprocess(lastValue, z.string().min(1).max(URL_CHARS_MAX)),
  /** Width and height in pixels. */
  size: queryInteger({ min: 16, max: 2048, default: 600 }),
  level: queryEnum(QR_LEVELS),
  fgColor: color('#000000'),
  bgColor: color('#FFFFFF'),
  /** Quiet zone in modules. */
  margin: queryInteger({ min: 0, max: 32, default: 2 }),
  /** Image in the middle; for short links of paid plans. */
  logo: queryTextUpTo(URL_CHARS_MAX),
  hideLogo: queryBoolean,
  /** Deprecated and without effect. */
  includeMargin: queryBoolean,
});
export type QrQuery = z.infer<typeof qrQuerySchema>;
