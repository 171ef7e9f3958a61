import { storableText } from './storable-text.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A destination as it is stored: kept as given when it is a URL of any scheme, else with `https://` in front when that makes
 * one (spec 4.2). Undefined when it is no URL either way.
 */
export function normaliseUrl(text: string): string | undefined {
  // What URL parsers skip anyway, and what a Location header must not contain.
  const clean = storableText(text.trim().replace(/[\t\n\r]/g, ''));
  const url = URL.canParse(clean) ? clean : withHttps(clean);
  if (url === undefined) return undefined;
  return CONTROL.test(url) ? new URL(url).href : url;
}

function withHttps(text: string): string | undefined {
  if (!text.includes('.') || text.includes(' ')) return undefined;
  const url = `https://${text}`;
  return URL.canParse(url) ? url : undefined;
}

const UTM_FIELDS = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content'] as const;
export type UtmField = (typeof UTM_FIELDS)[number];
const QUERY_FIELDS = [...UTM_FIELDS, 'ref'] as const;

/** Fields of a request that change the destination's query: a value sets, null or '' removes, undefined leaves alone. */
export type UtmChanges = Readonly<Partial<Record<(typeof QUERY_FIELDS)[number], string | null | undefined>>>;

/** The destination with the query parameters that the request names; re-serialised only when it names any. */
export function mergeUtm(url: string, changes: UtmChanges): string {
  const touched = QUERY_FIELDS.filter((field) => changes[field] !== undefined);
  if (touched.length === 0 || url === '') return url;
  const parsed = new URL(url);
  for (const field of touched) {
    const value = changes[field];
    if (value === undefined || value === null || value === '') parsed.searchParams.delete(field);
    else parsed.searchParams.set(field, value.replace('+', ' '));
  }
  return parsed.href;
}

/** The link's `utm_*` fields: what its destination's query says. */
export function readUtm(url: string): Record<UtmField, string | null> {
  const parameters = url === '' ? new URLSearchParams() : new URL(url).searchParams;
  const values = UTM_FIELDS.map((field) => [field, parameters.get(field) || null]);
  return Object.fromEntries(values) as Record<UtmField, string | null>;
}
