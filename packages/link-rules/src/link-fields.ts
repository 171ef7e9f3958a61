import { isIP } from 'node:net';
import { keepUtm, type LinkRecord, mergeUtm, requireUrl, type UtmValues } from '@waymark/catalog';
import {
  cutText,
  DESCRIPTION_CHARS_MAX,
  fieldError,
  HIDDEN_PASSWORD,
  IMAGE_DATA_URL_CHARS_MAX,
  parseImageDataUrl,
  parseUrl,
  TITLE_CHARS_MAX,
  type UpdateLinkBody,
  URL_CHARS_MAX,
  UTM_TEMPLATE_FIELDS,
} from '@waymark/contract';

const COUNTRY = /^[A-Z]{2}$/;
const PERCENT_TOTAL = 100;

/** Maximum characters of a UTM value that a body sets. Those in a URL have only the limit of the URL. */
const UTM_CHARS_MAX = 255;

/**
 * Checks the lengths of the UTM values of a body. A longer one is accepted if the destination has it already, because a link may be sent back
 * as it was answered.
 *
 * @throws ApiError unprocessable_entity
 */
export function checkUtmValues(destination: string, body: UpdateLinkBody): void {
  for (const field of UTM_TEMPLATE_FIELDS) {
    const value = body[field] ?? '';
    if (value.length <= UTM_CHARS_MAX || parseUrl(destination)?.searchParams.get(field)?.trim() === value) continue;
    throw fieldError('too_big', field, `must have at most ${UTM_CHARS_MAX} characters`);
  }
}

/**
 * A link's destination with its UTM parameters; empty for a root link without one.
 *
 * @param url from the body, or the stored one when the body has none
 * @param kept stored UTM values, used for parameters that neither the URL nor the body sets
 * @throws ApiError bad_request when it is missing, unprocessable_entity when it is not a URL
 */
export function destinationOf(url: string, body: UpdateLinkBody, isRoot: boolean, kept?: UtmValues): string {
  const isSet = url.trim() !== '';
  const given = isSet ? requireUrl('url', url) : '';
  const destination = kept === undefined ? given : keepUtm(given, kept);
  checkUtmValues(destination, body);
  if (isSet) {
    const merged = mergeUtm(destination, body);
    if (merged.length > URL_CHARS_MAX)
      throw fieldError('too_big', 'url', `must have at most ${URL_CHARS_MAX} characters with its UTM parameters`);
    return merged;
  }
  if (isRoot) return '';
  throw fieldError('required', 'url', 'is required');
}

/** @throws ApiError unprocessable_entity for the mask that responses show in place of hidden passwords: it would be set by accident */
export function checkPassword(password: string | null | undefined): void {
  if (password !== HIDDEN_PASSWORD) return;
  throw fieldError(
    'invalid_value',
    'password',
    `must not be "${HIDDEN_PASSWORD}", which stands for a password that is not shown`,
  );
}

/** Normalises an optional URL of a link; null for none. */
function optionalUrl(field: string, text: string | null | undefined): string | null {
  return text ? requireUrl(field, text) : null;
}

/** The validated destinations by country; null for none. @throws ApiError unprocessable_entity */
function geoTargets(geo: UpdateLinkBody['geo']): Record<string, string> | null {
  if (geo === undefined || geo === null) return null;
  const entries = Object.entries(geo).map(([country, url]) => {
    if (!COUNTRY.test(country))
      throw fieldError('invalid_format', `geo.${country}`, 'its name must be two upper-case letters');
    return [country, requireUrl(`geo.${country}`, url)] as const;
  });
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/**
 * Validates the variants of an A/B test, whose percentages must add up to 100.
 *
 * @throws ApiError unprocessable_entity, also when the link does not track conversions
 */
export function variantsOf(
  testVariants: UpdateLinkBody['testVariants'],
  isConversionTracked: boolean,
): LinkRecord['testVariants'] {
  if (testVariants === undefined || testVariants === null) return null;
  if (!isConversionTracked) throw fieldError('invalid_combination', 'testVariants', 'needs trackConversion to be true');
  const total = testVariants.reduce((sum, { percentage }) => sum + percentage, 0);
  if (Math.abs(total - PERCENT_TOTAL) > 0.001)
    throw fieldError('invalid_value', 'testVariants', 'must have percentages that add up to 100');
  // Stored variants keep the fields that only a later release has.
  return testVariants.map((variant, index) => ({
    ...variant,
    url: requireUrl(`testVariants[${index}].url`, variant.url),
  }));
}

function shortened(text: string | null | undefined, charsMax: number): string | null {
  if (!text) return null;
  return text.length > charsMax ? `${cutText(text, charsMax - 3)}...` : text;
}

/** A preview image: an http(s) URL or a small data URL; any other text becomes null. */
function imageOf(text: string | null | undefined): string | null {
  const image = text?.trim();
  if (!image) return null;
  if (parseImageDataUrl(image) !== undefined) {
    if (image.length > IMAGE_DATA_URL_CHARS_MAX)
      throw fieldError('too_big', 'image', `must have at most ${IMAGE_DATA_URL_CHARS_MAX} characters as data URL`);
    return image;
  }
  const parsed = /^https?:\/\//i.test(image) ? parseUrl(image) : undefined;
  if (parsed === undefined) return null;
  // With a full stop at its end, a name is the same host.
  const hostname = parsed.hostname.replace(/\.$/, '');
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (isLocal || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw fieldError('invalid_value', 'image', 'must be a URL whose host is a public name');
  return requireUrl('image', image);
}

/**
 * The fields that are validated independently of each other and stored almost unchanged, each with the function from body to stored form.
 */
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

/** Results of {@link plainFields} by body, because a bulk change applies one body to up to a hundred links. */
const plainOfBody = new WeakMap<UpdateLinkBody, Partial<PlainFields>>();

/** The stored form of the plain fields in the body. @throws ApiError unprocessable_entity */
export function plainFields(body: UpdateLinkBody): Partial<PlainFields> {
  const cached = plainOfBody.get(body);
  if (cached !== undefined) return cached;
  const present = Object.entries(PLAIN_FIELDS).filter(([field]) => body[field as keyof PlainFields] !== undefined);
  const plain: Partial<PlainFields> = Object.fromEntries(present.map(([field, read]) => [field, read(body)]));
  plainOfBody.set(body, plain);
  return plain;
}

/** Whether the stored image of a link is a data URL, which is part of the record. */
export function isDataUrl(image: string | null | undefined): boolean {
  return image?.startsWith('data:') === true;
}
