import type { ApiKeyRecord, Catalog, NewLink, WorkspaceRecord } from '@waymark/catalog';
import { API_READ, workspaceLimits } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type Link } from '@waymark/contract';
import { checkChosenKey } from './key-rules.js';
import { descriptionOf, destinationOf, geoTargets, imageOf, optionalUrl, titleOf, variantsOf } from './link-fields.js';
import { checkPlan, isGiven } from './plan-gates.js';
import { requestDate } from './request-date.js';

export interface CreateLinkParts {
  readonly catalog: Catalog;
  /** The domain every workspace may use. */
  readonly defaultDomain: string | undefined;
  readonly now: () => number;
}

export interface CreateLinkRequest {
  readonly workspace: WorkspaceRecord;
  readonly apiKey: ApiKeyRecord;
  readonly body: CreateLinkBody;
}

/** Fields whose kinds do not exist yet: a link that ignored them would not be the link that was asked for. */
const UNSUPPORTED_FIELDS = ['tagIds', 'tagNames', 'tagId', 'folderId', 'programId', 'partnerId', 'webhookIds'] as const;

/** Refuses links beyond the plan's number a month, before anything else is looked at (spec 4.3). */
export async function checkUsage({ catalog, now }: CreateLinkParts, workspace: WorkspaceRecord): Promise<void> {
  const { linksPerMonth } = workspaceLimits(workspace).quotas;
  if (linksPerMonth === null) return;
  const today = new Date(now());
  const monthStartMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
  if ((await catalog.links.createdSince(workspace.id, monthStartMs)) < linksPerMonth) return;
  throw new ApiError('forbidden', `This workspace has used its ${linksPerMonth} links of this month.`);
}

function ownDomain(parts: CreateLinkParts, workspace: WorkspaceRecord, slug: string): Promise<boolean> {
  return parts.catalog.domains.findBySlug(slug, API_READ).then((domain) => domain?.workspaceId === workspace.id);
}

/** The domain of the link and whether it is the one that all workspaces share. */
async function domainOf(
  parts: CreateLinkParts,
  workspace: WorkspaceRecord,
  given: string | null | undefined,
): Promise<{ readonly slug: string; readonly isShared: boolean }> {
  const slug = given?.toLowerCase() || (await parts.catalog.domains.primary(workspace.id))?.slug || parts.defaultDomain;
  if (slug === undefined) {
    throw new ApiError('unprocessable_entity', 'custom: domain: this workspace has no domain to create links on');
  }
  if (await ownDomain(parts, workspace, slug)) return { slug, isShared: false };
  if (slug === parts.defaultDomain) return { slug, isShared: true };
  throw new ApiError('forbidden', `The domain "${slug}" does not belong to this workspace.`);
}

function refuseUnsupported(body: CreateLinkBody): void {
  const field = UNSUPPORTED_FIELDS.find((name) => isGiven(body[name]));
  if (field !== undefined) throw new ApiError('unprocessable_entity', `custom: ${field}: not supported yet`);
}

function datesOf(body: CreateLinkBody) {
  return {
    expiresAt: requestDate('expiresAt', body.expiresAt),
    testStartedAt: requestDate('testStartedAt', body.testStartedAt),
    testCompletedAt: requestDate('testCompletedAt', body.testCompletedAt),
  };
}

function externalIdOf(body: CreateLinkBody): string | null {
  const externalId = body.externalId?.replace(/^ext_/, '');
  if (externalId === '') throw new ApiError('unprocessable_entity', 'too_small: externalId: at least one character');
  return externalId ?? null;
}

/** A fault of the checks that come after the look-ups of key and externalId, whose conflicts are told first. */
async function conflictsFirst<T>(
  parts: CreateLinkParts,
  workspaceId: string,
  link: NewLink,
  check: () => T,
): Promise<T> {
  try {
    return check();
  } catch (err) {
    await parts.catalog.links.assertFree(workspaceId, link);
    throw err;
  }
}

/** Creates a link, checking in the order of spec 4.3; usage and schema have been checked before. */
export async function createLink(parts: CreateLinkParts, request: CreateLinkRequest): Promise<Link> {
  const { workspace, apiKey, body } = request;
  const { catalog } = parts;
  const destinations = {
    url: destinationOf(body),
    expiredUrl: optionalUrl('expiredUrl', body.expiredUrl),
    ios: optionalUrl('ios', body.ios),
    android: optionalUrl('android', body.android),
    geo: geoTargets(body.geo),
  };
  checkPlan(workspace.plan, body);
  const testVariants = variantsOf(body);
  const domain = await domainOf(parts, workspace, body.domain);
  if (body.key !== undefined && body.key !== null) checkChosenKey(body.key, workspace, domain.isShared);
  const link: NewLink = {
    ...destinations,
    domain: domain.slug,
    key: body.key ?? undefined,
    keyLength: body.keyLength ?? undefined,
    prefix: body.prefix ?? undefined,
    externalId: externalIdOf(body),
    tenantId: body.tenantId || null,
    trackConversion: body.trackConversion ?? false,
    archived: body.archived ?? false,
    publicStats: body.publicStats ?? false,
    comments: body.comments || null,
    password: body.password,
    proxy: body.proxy ?? false,
    title: titleOf(body),
    description: descriptionOf(body),
    image: imageOf(body),
    video: body.video || null,
    rewrite: body.rewrite ?? false,
    doIndex: body.doIndex ?? false,
    testVariants,
    userId: apiKey.userId,
  };
  const dates = await conflictsFirst(parts, workspace.id, link, () => {
    refuseUnsupported(body);
    return datesOf(body);
  });
  return catalog.links.toLink(await catalog.links.create(workspace.id, { ...link, ...dates }));
}
