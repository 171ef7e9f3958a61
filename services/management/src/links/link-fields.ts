import { isIP } from 'node:net';
import { mergeUtm, normaliseKey, normaliseUrl } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, ROOT_KEY } from '@waymark/contract';

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
 * The link's destination with its UTM parameters; empty for a root link without one.
 *
 * @throws ApiError bad_request when it is missing, unprocessable_entity when it is no URL
 */
export function destinationOf(body: CreateLinkBody): string {
  if (body.url.trim() === '') {
    if (typeof body.key === 'string' && normaliseKey(body.key) === ROOT_KEY) return '';
    throw new ApiError('bad_request', 'invalid_type: url: a destination URL is required');
  }
  return mergeUtm(urlOf('url', body.url), body);
}

/** A further URL of a link: null for none. */
export function optionalUrl(field: string, text: string | null | undefined): string | null {
  return text ? urlOf(field, text) : null;
}

/** Destinations by country, null for none. */
export function geoTargets(geo: CreateLinkBody['geo']): Record<string, string> | null {
  if (geo === undefined || geo === null) return null;
  const entries = Object.entries(geo).map(([country, url]) => {
    if (!COUNTRY.test(country)) throw invalid(`geo.${country}`, 'countries are two upper-case letters');
    return [country, urlOf(`geo.${country}`, url)] as const;
  });
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Variants of an A/B test: only for links that track conversions, adding up to the whole. */
export function variantsOf(body: CreateLinkBody): { url: string; percentage: number }[] | null {
  const { testVariants } = body;
  if (testVariants === undefined || testVariants === null) return null;
  if (body.trackConversion !== true) throw invalid('testVariants', 'trackConversion must be true');
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

export function titleOf(body: CreateLinkBody): string | null {
  return shortened(body.title, TITLE_CHARS_MAX);
}

export function descriptionOf(body: CreateLinkBody): string | null {
  return shortened(body.description, DESCRIPTION_CHARS_MAX);
}

/** A preview image: an http(s) URL or a small data URL; any other text counts as none (spec 4.2). */
export function imageOf(body: CreateLinkBody): string | null {
  const { image } = body;
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
