import { createHash } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import { readCookie } from '../cookies.js';
import { destinationFor, type Follow } from './follow.js';

const COOKIE = 'dub_test_url';
const COOKIE_SECONDS = 7 * 24 * 3600;
/** Browsers reject cookies beyond 4 kB, so longer URLs are stored as a digest. */
const COOKIE_CHARS_MAX = 2000;

interface Variant {
  readonly url: string;
  readonly cookieValue: string;
  /** Sum of the percentages up to and including this one. */
  readonly upTo: number;
  readonly follow: Follow;
}

export interface VariantVisit {
  readonly nowMs: number;
  /** `Cookie` header. */
  readonly cookies: string | undefined;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** Chooses a visitor's variant; returns undefined when the test is not running. */
export type VariantChooser = (visit: VariantVisit) => Follow | undefined;

function cookieValueOf(url: string): string {
  const text = encodeURIComponent(Buffer.from(url).toString('utf8'));
  return text.length <= COOKIE_CHARS_MAX ? text : createHash('sha256').update(url).digest('base64url');
}

/** The decoded value, as clients may encode cookies differently; undefined when it cannot be decoded. */
function decodedValue(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

function assignedVariant(value: string, variants: readonly Variant[]): Variant | undefined {
  const exact = variants.find(({ cookieValue, url }) => cookieValue === value || url === value);
  if (exact !== undefined) return exact;
  const decoded = decodedValue(value);
  return decoded === undefined ? undefined : variants.find(({ url }) => url === decoded);
}

/** The variant chooser of the link's A/B test; undefined when it has no valid test. */
export function variantChooser(link: LinkRecord): VariantChooser | undefined {
  const { testVariants, testCompletedAt } = link;
  if (testVariants === null || testVariants.length < 2 || testVariants.length > 4) return undefined;
  const endsAtMs = testCompletedAt === null ? Number.NaN : Date.parse(testCompletedAt);
  if (Number.isNaN(endsAtMs)) return undefined;

  let sum = 0;
  const variants = testVariants.map(({ url, percentage }): Variant => {
    sum += percentage;
    const cookieValue = cookieValueOf(url);
    const cookie = `${COOKIE}=${cookieValue}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax`;
    return { url, cookieValue, upTo: sum, follow: destinationFor(url, link.rewrite, cookie) };
  });

  return ({ nowMs, cookies, random }) => {
    if (nowMs >= endsAtMs) return undefined;
    const value = readCookie(cookies, COOKIE);
    const assigned = value === undefined ? undefined : assignedVariant(value, variants);
    if (assigned !== undefined) return assigned.follow;
    const point = random() * sum;
    return (variants.find(({ upTo }) => point < upTo) ?? variants[0])?.follow;
  };
}
