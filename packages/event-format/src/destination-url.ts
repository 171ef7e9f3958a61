import { UTM_FIELDS } from '@waymark/contract';

/** The URL up to its `?`. */
export function withoutQuery(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? url : url.slice(0, mark);
}

const NO_UTM_VALUES = ['', '', '', '', ''];

/** A cheap check before parsing: false if the URL certainly has no UTM parameter. A percent-encoded name may be one. */
export function mayHaveUtm(url: string): boolean {
  return url.includes('utm_') || /[?&][^=&?#]*%/.test(url);
}

/** The decoded UTM values in a URL's query, in the order of the `utm_` columns; `''` for parameters that it lacks. */
export function utmValues(url: string): string[] {
  if (!mayHaveUtm(url)) return NO_UTM_VALUES;
  // Ignore a query in the fragment, which a client-side router may use.
  const fragment = url.indexOf('#');
  const address = fragment < 0 ? url : url.slice(0, fragment);
  const start = address.indexOf('?');
  if (start < 0) return NO_UTM_VALUES;
  const parameters = new URLSearchParams(address.slice(start + 1));
  return UTM_FIELDS.map((name) => parameters.get(name) ?? '');
}
