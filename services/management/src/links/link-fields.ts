import { isIP } from 'node:net';
import { type LinkRecord, mergeUtm, normaliseUrl } from '@waymark/catalog';
import { ApiError, type UpdateLinkBody } from '@waymark/contract';

const TITLE_CHARS_MAX = 120;
const DESCRIPTION_CHARS_MAX = 240;
/** An image inside the link is part of every copy of it in every cache. */
const DATA_URL_CHARS_MAX = 100_000;
const DATA_URL = /^data:image\/(?:png|jpe?g|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const COUNTRY = /^[A-Z]{2}$/;
const PERCENT_TOTAL = 100;

function invalid(field: string, reason: string): ApiError {
  return new ApiError('unprocessable_entity', `custom: ${field}: ${reason}`);
}

function urlOf(field: string, text: string): string {
  const url = normaliseUrl(text);
  if (url === undefined) throw invalid(field, 'not a valid URL');
  return url;
}

/**
 * A link's destination with its UTM parameters; empty for a root link without one.
 *
 * @param url as given, or as stored when the body names none
 * @throws ApiError bad_request when it is missing, unprocessable_entity when it is no URL
 */
export function destinationOf(url: string, body: UpdateLinkBody, isRoot: boolean): string {
  if (url.trim() !== '') return mergeUtm(urlOf('url', url), body);
  if (isRoot) return '';
  throw new ApiError('bad_request', 'invalid_type: url: a destination URL is required');
}

/** A further URL of a link: null for none. */
function optionalUrl(field: string, text: string | null | undefined): string | null {
  return text ? urlOf(field, text) : null;
}

/** Destinations by country, null for none. */
function geoTargets(geo: UpdateLinkBody['geo']): Record<string, string> | null {
  if (geo === undefined || geo === null) return null;
  const entries = Object.entries(geo).map(([country, url]) => {
    if (!COUNTRY.test(country)) throw invalid(`geo.${country}`, 'countries are two upper-case letters');
    return [country, urlOf(`geo.${country}`, url)] as const;
  });
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/**
 * Variants of an A/B test as stored: adding up to the whole.
 *
 * @throws ApiError unprocessable_entity, also when the link does not track conversions
 */
export function variantsOf(
  testVariants: UpdateLinkBody['testVariants'],
  isConversionTracked: boolean,
): LinkRecord['testVariants'] {
  if (testVariants === undefined || testVariants === null) return null;
  if (!isConversionTracked) throw invalid('testVariants', 'trackConversion must be true');
  const total = testVariants.reduce((sum, { percentage }) => sum + percentage, 0);
  if (Math.abs(total - PERCENT_TOTAL) > 0.001) throw invalid('testVariants', 'percentages must add up to 100');
  return testVariants.map(({ url, percentage }, index) => ({
    url: urlOf(`testVariants[${index}].url`, url),
    percentage,
  }));
}

function shortened(text: string | null | undefined, charsMax: number): string | null {
  if (!text) return null;
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}

/** A preview image: an http(s) URL or a small data URL; any other text counts as none (spec 4.2). */
function imageOf(image: string | null | undefined): string | null {
  if (!image) return null;
  if (DATA_URL.test(image)) {
    if (image.length > DATA_URL_CHARS_MAX)
      throw invalid('image', `at most ${DATA_URL_CHARS_MAX} characters as data URL`);
    return image;
  }
  if (!/^https?:\/\//i.test(image) || !URL.canParse(image)) return null;
  const { hostname } = new URL(image);
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (isLocal || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) throw invalid('image', 'the host must be a public name');
  return urlOf('image', image);
}

/** Fields that are stored as they are given, or nearly, and are judged alone. */
const PLAIN_FIELDS = {
  expiredUrl: (body) => optionalUrl('expiredUrl', body.expiredUrl),
  ios: (body) => optionalUrl('ios', body.ios),
  android: (body) => optionalUrl('android', body.android),
  geo: (body) => geoTargets(body.geo),
  image: (body) => imageOf(body.image),
  tenantId: (body) => body.tenantId || null,
  trackConversion: (body) => body.trackConversion ?? false,
  archived: (body) => body.archived ?? false,
  publicStats: (body) => body.publicStats ?? false,
  comments: (body) => body.comments || null,
  proxy: (body) => body.proxy ?? false,
  title: (body) => shortened(body.title, TITLE_CHARS_MAX),
  description: (body) => shortened(body.description, DESCRIPTION_CHARS_MAX),
  video: (body) => body.video || null,
  rewrite: (body) => body.rewrite ?? false,
  doIndex: (body) => body.doIndex ?? false,
} satisfies { [Field in keyof LinkRecord]?: (body: UpdateLinkBody) => LinkRecord[Field] };
type PlainFields = Pick<LinkRecord, keyof typeof PLAIN_FIELDS>;

/** Those of the plain fields that the body speaks of, as they are stored. @throws ApiError unprocessable_entity */
export function plainFields(body: UpdateLinkBody): Partial<PlainFields> {
  const given = Object.entries(PLAIN_FIELDS).filter(([field]) => body[field as keyof PlainFields] !== undefined);
  return Object.fromEntries(given.map(([field, read]) => [field, read(body)]));
}

/** Whether the image is part of the link itself. */
export function isDataUrl(image: string | null | undefined): boolean {
  return image?.startsWith('data:') === true;
}
