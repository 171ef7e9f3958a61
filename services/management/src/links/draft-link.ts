import { type NewLink, normaliseKey } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, ROOT_KEY } from '@waymark/contract';
import { domainName } from '../domains/domain-name.js';
import { checkChosenKey } from './key-rules.js';
import { destinationOf, isDataUrl, plainFields, variantsOf } from './link-fields.js';
import type { LinkReferences } from './link-references.js';
import { type LinkContext, namedFields } from './named-fields.js';
import { checkPlan } from './plan-gates.js';
import { dateFields } from './request-date.js';

/**
 * The domain that a body names, or the one where links are made that name none, and whether all workspaces share it.
 *
 * @throws ApiError forbidden for a domain of somebody else, unprocessable_entity when there is none
 */
export function domainOf(
  references: LinkReferences,
  given: string | null | undefined,
): { readonly slug: string; readonly isShared: boolean } {
  const slug = given ? domainName(given) : references.usualDomain;
  if (slug === undefined) {
    throw new ApiError('unprocessable_entity', 'custom: domain: this workspace has no domain to create links on');
  }
  if (references.ownDomains.has(slug)) return { slug, isShared: false };
  if (slug === references.defaultDomain) return { slug, isShared: true };
  throw new ApiError('forbidden', `The domain "${slug}" does not belong to this workspace.`);
}

/** The external id of a body, bare; null for none. @throws ApiError unprocessable_entity when nothing follows the prefix */
export function externalIdOf(given: string | null | undefined): string | null {
  const externalId = given?.replace(/^ext_/, '');
  if (externalId === '') throw new ApiError('unprocessable_entity', 'too_small: externalId: at least one character');
  return externalId ?? null;
}

/**
 * What a body says of a new link, checked in the order of spec 4.3 up to the key: whether that is taken is told before what
 * {@link completeLink} finds wrong.
 *
 * @throws ApiError 400, 403, 409 or 422
 */
export function draftLink(context: LinkContext, body: CreateLinkBody): NewLink {
  const { workspace, apiKey, references } = context;
  const isRoot = typeof body.key === 'string' && normaliseKey(body.key) === ROOT_KEY;
  const url = destinationOf(body.url, body, isRoot);
  const plain = plainFields(body);
  checkPlan(workspace.plan, { ...body, isRoot });
  const testVariants = variantsOf(body.testVariants, body.trackConversion === true);
  const domain = domainOf(references, body.domain);
  if (body.key !== undefined && body.key !== null) checkChosenKey(body.key, workspace, domain.isShared);
  return {
    ...plain,
    url,
    domain: domain.slug,
    key: body.key ?? undefined,
    keyLength: body.keyLength ?? undefined,
    prefix: body.prefix ?? undefined,
    externalId: externalIdOf(body.externalId),
    password: body.password,
    testVariants,
    userId: apiKey.userId,
  };
}

/** The whole link: what the body says of other resources and of dates is added. @throws ApiError 403, 404 or 422 */
export function completeLink(context: LinkContext, body: CreateLinkBody, draft: NewLink): NewLink {
  return { ...draft, ...namedFields(context, body), ...dateFields(body, context.nowMs) };
}

/** Images inside links are part of every copy of them; spec 4.5. @throws ApiError unprocessable_entity */
export function checkBulkImage({ image, proxy }: CreateLinkBody): void {
  if (proxy !== true || !isDataUrl(image)) return;
  throw new ApiError('unprocessable_entity', 'custom: image: links with proxy created in bulk need an image address');
}
