import { HIDDEN_PASSWORD } from '@waymark/contract';
import { countsOf, type Fields } from '../model/fields.js';
import type { LinkFields, SourceCounts } from '../model/source-link.js';

const TEXTS = [
  ...(['title', 'description', 'comments', 'expiredUrl', 'ios', 'android', 'image', 'video'] as const),
  ...(['tenantId', 'externalId', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const),
];
const FLAGS = ['archived', 'proxy', 'rewrite', 'doIndex', 'publicStats', 'trackConversion'] as const;
const TIMES = ['expiresAt', 'testStartedAt', 'testCompletedAt'] as const;

function readAll<K extends string, V>(names: readonly K[], read: (name: K) => V): Record<K, V> {
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<K, V>;
}

/**
 * The fields of a link that a source has under our own names, without those that each source reads its own way: `url`, `password`, `geo`
 * and `testVariants`.
 */
export function ownFields(fields: Fields): Omit<LinkFields, 'url' | 'password' | 'geo' | 'testVariants'> {
  return { ...readAll(TEXTS, fields.text), ...readAll(FLAGS, fields.flag), ...readAll(TIMES, fields.time) };
}

/** The password; null with a reported loss when the source has masked it. */
export function passwordOf(fields: Fields): string | null {
  const password = fields.text('password');
  if (password !== HIDDEN_PASSWORD) return password;
  fields.reportLost('password', password, 'is hidden by the source: set it again');
  return null;
}

/** The counters of a link that a source has under our own names. */
export function ownCounts(fields: Fields): SourceCounts | null {
  return countsOf(readAll(['clicks', 'leads', 'conversions', 'sales', 'saleAmount'] as const, fields.count));
}
