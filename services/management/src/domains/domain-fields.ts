import { type DomainRecord, requireUrl } from '@waymark/catalog';
import {
  ApiError,
  fieldError,
  IMAGE_DATA_URL_CHARS_MAX,
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

/** The validated and normalised fields that are present in a body. @throws ApiError forbidden, 422 */
export function domainFields(plan: Plan, body: UpdateDomainBody): DomainFields {
  checkPlan(plan, body);
  const { slug, expiredUrl, notFoundUrl, placeholder, archived, logo, assetLinks, appleAppSiteAssociation } = body;
  return {
    ...(slug === undefined ? {} : { slug: domainSlug(slug) }),
    ...(expiredUrl === undefined ? {} : { expiredUrl: urlOf('expiredUrl', expiredUrl) }),
    ...(notFoundUrl === undefined ? {} : { notFoundUrl: urlOf('notFoundUrl', notFoundUrl) }),
    ...(placeholder === undefined ? {} : { placeholder: urlOf('placeholder', placeholder) }),
    ...(archived === undefined ? {} : { archived }),
    ...(logo === undefined ? {} : { logo: logoOf(logo) }),
    ...(assetLinks === undefined ? {} : { assetLinks: jsonOf('assetLinks', assetLinks) }),
    ...(appleAppSiteAssociation === undefined
      ? {}
      : { appleAppSiteAssociation: jsonOf('appleAppSiteAssociation', appleAppSiteAssociation) }),
  };
}
