import { parseUrl, URL_CHARS_MAX, UTM_FIELDS, UTM_TEMPLATE_FIELDS } from '@waymark/contract';
import { storableText } from '../model/storable-text.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A destination as it is stored: kept as given when it is a URL of any scheme, else with `https://` in front when that makes
 * one. Undefined when it is no URL either way.
 */
export function normaliseUrl(text: string): string | undefined {
  if (text.length > URL_CHARS_MAX) return undefined;
  // What URL parsers skip anyway, and what a Location header must not contain.
  const clean = storableText(text.trim().replace(/[\t\n\r]/g, ''));
  const mayLackScheme = clean.includes('.') && !clean.includes(' ');
  for (const url of mayLackScheme ? [clean, `https://${clean}`] : [clean]) {
    const parsed = parseUrl(url);
    if (parsed === undefined) continue;
    const stored = CONTROL.test(url) ? parsed.href : url;
    return stored.length > URL_CHARS_MAX ? undefined : stored;
  }
  return undefined;
}

/** Fields of a request that change the destination's query: a value sets, null or '' removes, undefined leaves alone. */
export type UtmChanges = Readonly<Partial<Record<(typeof UTM_TEMPLATE_FIELDS)[number], string | null | undefined>>>;

/** The destination with the query parameters that the request names; re-serialised only when it names any. */
export function mergeUtm(url: string, changes: UtmChanges): string {
  const touched = UTM_TEMPLATE_FIELDS.filter((field) => changes[field] !== undefined);
  const parsed = touched.length === 0 ? undefined : parseUrl(url);
  if (parsed === undefined) return url;
  for (const field of touched) {
    const value = changes[field];
    if (value === undefined || value === null || value === '') parsed.searchParams.delete(field);
    else parsed.searchParams.set(field, value.replace('+', ' '));
  }
  return parsed.href;
}

/** The `utm_*` fields of a link. */
export type UtmValues = Readonly<Record<(typeof UTM_FIELDS)[number], string | null>>;

/** Destinations such as `mailto:` and `tel:` addresses have none, and a parameter would become a part of the address. */
const HAS_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\//i;

/** The destination with those of the values whose parameter it does not have; re-serialised only when there are any. */
export function keepUtm(url: string, values: UtmValues): string {
  const parsed = HAS_AUTHORITY.test(url) ? parseUrl(url) : undefined;
  if (parsed === undefined) return url;
  const kept = UTM_FIELDS.flatMap((field) => {
    const value = values[field];
    return value === null || parsed.searchParams.has(field) ? [] : [{ field, value }];
  });
  for (const { field, value } of kept) parsed.searchParams.set(field, value);
  return kept.length === 0 ? url : parsed.href;
}

/** The link's `utm_*` fields: what its destination's query says. */
export function readUtm(url: string): UtmValues {
  const parameters = parseUrl(url)?.searchParams ?? new URLSearchParams();
  const values = UTM_FIELDS.map((field) => [field, parameters.get(field) || null]);
  return Object.fromEntries(values) as UtmValues;
}
