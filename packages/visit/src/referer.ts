import { cutText, parseUrl, withoutWww } from '@waymark/contract';

/** The stored referrer of a visit without one. */
export const DIRECT = '(direct)';

/** Browsers cut a Referer at 4096 characters; half of that keeps the path and bounds the size of a row. */
const REFERER_CHARS_MAX = 2048;

/** A parsed referrer. */
export interface Referer {
  /** Host without `www.`, or `(direct)`. */
  readonly referer: string;
  /** The header, cut to 2048 characters, or `(direct)`. */
  readonly refererUrl: string;
}

const NONE: Referer = { referer: DIRECT, refererUrl: DIRECT };

function hostOf(url: string): string | undefined {
  const host = parseUrl(url)?.hostname;
  return host ? withoutWww(host) : undefined;
}

/** Parses a Referer header, or the `document.referrer` that a script reports. */
export function readReferer(header: string | undefined): Referer {
  if (header === undefined || header === '') return NONE;
  const refererUrl = cutText(header, REFERER_CHARS_MAX);
  return { referer: hostOf(refererUrl) ?? DIRECT, refererUrl };
}
