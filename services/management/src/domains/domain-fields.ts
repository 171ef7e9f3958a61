import { type DomainRecord, requireUrl } from '@waymark/catalog';
import {
  ApiError,
  fieldError,
  IMAGE_DATA_URL_CHARS_MAX,
  PLACEHOLDER_CHARS_MAX,
  type Plan,
  parseImageDataUrl,
  planAtLeast,
  type UpdateDomainBody,
} from '@waymark/contract';
import { domainSlug } from '@waymark/link-rules';

/** Fields that need the plan pro. */
const GATED_FIELDS = ['logo', 'expiredUrl', 'notFoundUrl', 'assetLinks', 'appleAppSiteAssociation'] as const;

type DomainFields = Partial<Pick<DomainRecord, (typeof GATED_FIELDS)[number] | 'slug' | 'placeholder' | 'archived'>>;

function urlOf(field: string, text: string | null): string | null {
  return text ? requireUrl(field, text) : null;
}

function placeholderOf(text: string | null): string | null {
  const url = urlOf('placeholder', text);
  // The stored form may be longer than the text, and must not be refused when it is sent back.
  if (url !== null && url.length > PLACEHOLDER_CHARS_MAX)
    throw fieldError(
      'too_big',
      'placeholder',
      `must have at most ${PLACEHOLDER_CHARS_MAX} characters, including https://`,
    );
  return url;
}

function logoOf(text: string | null): string | null {
  if (!text) return null;
  if (parseImageDataUrl(text) === undefined) {
    if (!/^https?:\/\//i.test(text))
      throw fieldError('invalid_format', 'logo', 'must be an image as data URL, or an http or https URL');
    return urlOf('logo', text);
  }
  if (text.length > IMAGE_DATA_URL_CHARS_MAX)
    throw fieldError('too_big', 'logo', `must have at most ${IMAGE_DATA_URL_CHARS_MAX} characters as data URL`);
  return text;
}

function jsonOf(field: string, text: string | null): string | null {
  if (!text) return null;
  try {
    JSON.parse(text);
  } catch {
    throw fieldError('invalid_format', field, 'must be JSON');
  }
  return text;
}

/** @throws ApiError forbidden when the body sets a field that the plan does not include */
function checkPlan(plan: Plan, body: UpdateDomainBody): void {
  const field = planAtLeast(plan, 'pro') ? undefined : GATED_FIELDS.find((name) => body[name]);
  if (field !== undefined) throw new ApiError('forbidden', `"${field}" needs the plan pro or higher.`);
}

/** The validated and normalised fields that are present in a body. @throws ApiError 422, forbidden when the plan does not include them */
export function domainFields(plan: Plan, body: UpdateDomainBody): DomainFields {
  const { slug, expiredUrl, notFoundUrl, placeholder, archived, logo, assetLinks, appleAppSiteAssociation } = body;
  const fields = {
    ...(slug === undefined ? {} : { slug: domainSlug(slug) }),
    ...(expiredUrl === undefined ? {} : { expiredUrl: urlOf('expiredUrl', expiredUrl) }),
    ...(notFoundUrl === undefined ? {} : { notFoundUrl: urlOf('notFoundUrl', notFoundUrl) }),
    ...(placeholder === undefined ? {} : { placeholder: placeholderOf(placeholder) }),
    ...(archived === undefined ? {} : { archived }),
    ...(logo === undefined ? {} : { logo: logoOf(logo) }),
    ...(assetLinks === undefined ? {} : { assetLinks: jsonOf('assetLinks', assetLinks) }),
    ...(appleAppSiteAssociation === undefined
      ? {}
      : { appleAppSiteAssociation: jsonOf('appleAppSiteAssociation', appleAppSiteAssociation) }),
  };
  checkPlan(plan, body);
  return fields;
}
