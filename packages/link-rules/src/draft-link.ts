import { foreignDomain, type LinkRecord, type NewLink, normaliseKey } from '@waymark/catalog';
import { type CreateLinkBody, domainName, fieldError, ROOT_KEY } from '@waymark/contract';
import { checkChosenKey, checkRandomKey } from './key-rules.js';
import { checkPassword, destinationOf, isDataUrl, plainFields, variantsOf } from './link-fields.js';
import type { LinkReferences } from './link-references.js';
import { checkLinkSize } from './link-size.js';
import { checkPlan } from './plan-gates.js';
import { checkFolderWritable, type LinkContext, referencingFields } from './referencing-fields.js';
import { dateFields } from './request-date.js';

/**
 * The domain that a body requests, or else the fallback domain of the workspace. `isShared`: it is the default domain of the installation,
 * and not a domain of the workspace.
 *
 * @throws ApiError forbidden for a domain of another workspace, unprocessable_entity when the body has no domain and there is no fallback
 */
export function domainOf(
  references: LinkReferences,
  requested: string | null | undefined,
): { readonly slug: string; readonly isShared: boolean } {
  const slug = requested ? domainName(requested) : references.fallbackDomain;
  if (slug === undefined) {
    throw fieldError('invalid_value', 'domain', 'this workspace has no domain to create links on');
  }
  if (references.ownDomains.has(slug)) return { slug, isShared: false };
  if (slug === references.defaultDomain) return { slug, isShared: true };
  throw foreignDomain(slug);
}

/**
 * The first step of a new link: validates its own fields and its key. The second step is {@link completeLink}. They are separate, because
 * the error for a key that is taken is reported before the errors of the second step.
 *
 * @throws ApiError 400, 403, 409 or 422
 */
export function draftLink(context: LinkContext, body: CreateLinkBody): NewLink {
  const { workspace, apiKey, references } = context;
  // An empty text counts as no key, as in other optional fields. On the free plan it is refused like `_root`.
  const key = body.key || undefined;
  const isRoot = typeof body.key === 'string' && normaliseKey(body.key) === ROOT_KEY;
  const url = destinationOf(body.url, body, isRoot && key !== undefined);
  const plain = plainFields(body);
  checkPlan(workspace.plan, { ...body, isRoot });
  checkPassword(body.password);
  const testVariants = variantsOf(body.testVariants, body.trackConversion === true);
  const domain = domainOf(references, body.domain);
  const random = { keyLength: body.keyLength ?? undefined, prefix: body.prefix ?? undefined };
  if (key === undefined) checkRandomKey(random, workspace, domain.isShared);
  else checkChosenKey(key, workspace, domain.isShared);
  return {
    ...plain,
    url,
    domain: domain.slug,
    key,
    ...random,
    externalId: body.externalId ?? null,
    password: body.password,
    testVariants,
    userId: apiKey.userId,
  };
}

/** The default folder of a partner link without a folder. @throws ApiError forbidden when the caller may not change links there */
function partnerFolder(context: LinkContext, body: CreateLinkBody, programId: string | null | undefined) {
  const folder = context.references.partnerFolder;
  if (body.folderId !== undefined || !programId || folder === undefined) return {};
  checkFolderWritable(context, folder);
  return { folderId: folder.id };
}

/** The second step of a new link: adds references to other resources and dates, and checks the size. @throws ApiError 403, 404 or 422 */
export function completeLink(context: LinkContext, body: CreateLinkBody, draft: NewLink): NewLink {
  const named = referencingFields(context, body);
  const folder = partnerFolder(context, body, named.programId);
  const link = { ...draft, ...named, ...folder, ...dateFields(body, context.nowMs) };
  checkLinkSize({ ...link });
  return link;
}

/**
 * Rejects data URL images of `proxy` links in bulk requests, because they enlarge every cached copy of a link.
 *
 * @param link with the stored form of the image
 * @throws ApiError unprocessable_entity
 */
export function checkBulkImage({ image, proxy }: Partial<Pick<LinkRecord, 'image' | 'proxy'>>): void {
  if (proxy !== true || !isDataUrl(image)) return;
  throw fieldError(
    'invalid_combination',
    'image',
    'must be an http or https URL for links with proxy that are created or changed in bulk',
  );
}
