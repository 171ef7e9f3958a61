import { parseUrl } from '@waymark/contract';

export const DIRECT = '(direct)';

/** Browsers cut a Referer at 4096; what we keep is its path, and rows are bounded. */
const REFERER_CHARS_MAX = 2048;

export interface Referer {
  /** Host without `www.`, or `(direct)`. */
  readonly referer: string;
  /** The whole header, or `(direct)`. */
  readonly refererUrl: string;
}

const NONE: Referer = { referer: DIRECT, refererUrl: DIRECT };

/** A host name without the `www.` in front, lower case. */
export function withoutWww(host: string): string {
  const lower = host.toLowerCase();
  return lower.startsWith('www.') ? lower.slice(4) : lower;
}

function hostOf(url: string): string | undefined {
  const host = parseUrl(url)?.hostname;
  return host ? withoutWww(host) : undefined;
}

/** What a Referer header, or the `document.referrer` of a script, says. */
export function readReferer(header: string | undefined): Referer {
  if (header === undefined || header === '') return NONE;
  const refererUrl = header.length > REFERER_CHARS_MAX ? header.slice(0, REFERER_CHARS_MAX) : header;
  return { referer: hostOf(refererUrl) ?? DIRECT, refererUrl };
}
