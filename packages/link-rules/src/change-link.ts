import { isDeepStrictEqual } from 'node:util';
import {
  API_READ,
  type Catalog,
  type LinkRecord,
  linkInState,
  readUtm,
  storedKey,
  withRewrittenQuery,
} from '@waymark/catalog';
import {
  type ApiError,
  domainName,
  HIDDEN_PASSWORD,
  ROOT_KEY,
  type UpdateLinkBody,
  UTM_TEMPLATE_FIELDS,
} from '@waymark/contract';
import { domainOf } from './draft-link.js';
import { checkChosenKey } from './key-rules.js';
import { checkPassword, destinationOf, plainFields, variantsOf } from './link-fields.js';
import type { LinkRuleDeps } from './link-rule-deps.js';
import { checkLinkSize } from './link-size.js';
import { type Move, settleChangedLinks } from './lost-references.js';
import { checkPlan, type GatedLink } from './plan-gates.js';
import { checkFolderWritable, type LinkContext, referencingFields } from './referencing-fields.js';
import { dateFields } from './request-date.js';

type Passwords = Pick<Catalog['links'], 'isPassword' | 'sealPassword'>;

/** The link as it would be after the change, for {@link checkPlan}. */
function gatedLink(record: LinkRecord, body: UpdateLinkBody, url: string): GatedLink {
  const changes = Object.fromEntries(Object.entries(body).filter(([_field, value]) => value !== undefined));
  return { ...record, password: record.encryptedPassword, ...changes, isRoot: record.key === ROOT_KEY, url };
}

/** The new domain and key; those of a root link cannot change. */
function addressOf({ references, workspace }: LinkContext, record: LinkRecord, body: UpdateLinkBody) {
  const { domain, key } = record;
  if (key === ROOT_KEY || (!body.domain && !body.key)) return { domain, key };
  const next = body.domain
    ? domainOf(references, body.domain)
    : { slug: domain, isShared: !references.ownDomains.has(domain) };
  const nextKey = body.key || key;
  if (next.slug !== domain || storedKey(nextKey) !== key) checkChosenKey(nextKey, workspace, next.isShared);
  return { domain: next.slug, key: storedKey(nextKey) };
}

/**
 * The encrypted password after the change. It stays as it is when the body has no password, or the one that responses show: the current
 * password, or its mask.
 */
function encryptedPasswordOf(
  passwords: Passwords,
  record: LinkRecord,
  password: string | null | undefined,
): string | null {
  const isKept = password === undefined || (password === HIDDEN_PASSWORD && record.encryptedPassword !== null);
  if (isKept || passwords.isPassword(record, password)) return record.encryptedPassword;
  checkPassword(password);
  return password ? passwords.sealPassword(password, record.id) : null;
}

/**
 * The dates of the body. Responses show a link of a deactivated partner as expired: when a caller sends back the `expiresAt` of such a
 * response, the stored date stays.
 */
function datesOf({ references, nowMs }: LinkContext, record: LinkRecord, body: UpdateLinkBody) {
  const dates = dateFields(body, nowMs);
  const shown = linkInState(record, references.partners.get(record.partnerId ?? ''));
  return dates.expiresAt === shown.expiresAt ? { ...dates, expiresAt: record.expiresAt } : dates;
}

/**
 * The body of a request for one link. The deprecated `tagId` is left out if it is the link's first tag, as in responses: a caller may send
 * back a response, whose `tags` are no field of a body, and must not lose the other tags.
 */
export function withoutShownTag(record: LinkRecord, body: UpdateLinkBody): UpdateLinkBody {
  const { tagId, ...others } = body;
  const isOnlyTagField = body.tagIds === undefined && body.tagNames === undefined;
  return isOnlyTagField && tagId && tagId === record.tagIds[0] ? others : body;
}

/**
 * The body of a request without the domain and the key that its link had when it was found: they are no move. If a rename of the domain, or
 * another request, has moved the link since, it stays where it is.
 *
 * @param found the link that the request has found
 */
export function withoutFoundAddress(found: LinkRecord, body: UpdateLinkBody): UpdateLinkBody {
  const { domain, key, ...others } = body;
  return {
    ...others,
    ...(domain && domainName(domain) !== found.domain && { domain }),
    ...(key && storedKey(key) !== found.key && { key }),
  };
}

/**
 * Whether the body has UTM fields. With them, a destination that differs from the stored one only in how its query is encoded is not
 * changed, because an earlier request with UTM fields may have encoded the stored one anew.
 */
export function hasUtmFields(body: UpdateLinkBody): boolean {
  return UTM_TEMPLATE_FIELDS.some((field) => body[field] !== undefined);
}

/**
 * Applies a request body to a link: absent fields stay unchanged, null clears. Returns `record` itself when nothing changes.
 *
 * @param utm whether stored UTM parameters that a new `url` lacks are kept or removed: docs/reference/links.md
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export function changedLink(
  context: LinkContext,
  passwords: Passwords,
  record: LinkRecord,
  body: UpdateLinkBody,
  utm: 'keep' | 'replace',
): LinkRecord {
  if (record.folderId !== null) checkFolderWritable(context, context.references.folders.get(record.folderId));
  const kept = body.url !== undefined && utm === 'keep' ? record : undefined;
  const requested = destinationOf(body.url ?? record.url, body, record.key === ROOT_KEY, kept);
  const url = hasUtmFields(body) && withRewrittenQuery(requested) === record.url ? record.url : requested;
  const plain = plainFields(body);
  checkPlan(context.workspace.plan, gatedLink(record, body, url));
  const isConversionTracked = plain.trackConversion ?? record.trackConversion;
  const variants = body.testVariants === undefined ? record.testVariants : body.testVariants;
  // Checked in this order: the fields of the link itself, then what it refers to.
  const own: LinkRecord = {
    ...record,
    ...plain,
    encryptedPassword: encryptedPasswordOf(passwords, record, body.password),
    testVariants: variantsOf(variants, isConversionTracked),
    url,
    ...readUtm(url),
    ...addressOf(context, record, body),
    externalId: body.externalId === undefined ? record.externalId : body.externalId,
  };
  const { partnerId, programId } = record;
  const named = { partnerId, programId, ...referencingFields(context, body) };
  const next: LinkRecord = {
    ...own,
    ...named,
    // A link with a partner stays in its program. Without it, visits and leads would not be the partner's.
    programId: named.programId ?? (named.partnerId ? programId : null),
    // `disabledAt` comes from the ban of the link's partner, so a link that moves to another partner is enabled again.
    disabledAt: (named.partnerId ?? null) === record.partnerId ? record.disabledAt : null,
    ...datesOf(context, record, body),
  };
  if (isDeepStrictEqual(next, record)) return record;
  checkLinkSize({ ...next }, { ...record });
  return next;
}

/** Links that a request has found, and how it changes them. */
export interface FoundLinks {
  readonly found: readonly LinkRecord[];
  /** What the change refers to, and the domains, folders and partners of the links, as far as the rules need them. */
  readonly context: LinkContext;
  /** Reads the context for a link whose domain, folder or partner has changed since it was found. */
  readonly contextFor: (record: LinkRecord) => Promise<LinkContext>;
  /** May throw or reject to refuse the changes of all links. */
  readonly change: (context: LinkContext, record: LinkRecord) => LinkRecord | Promise<LinkRecord>;
}

/** The fields of a link that determine its context. */
const CONTEXT_FIELDS = ['domain', 'folderId', 'partnerId'] as const;

/**
 * Changes links that a request has found. Between its look-up and the locks of the links, other requests may have changed them, and what they
 * refer to. Therefore each change is made from the link as it is under its lock, with a context that fits it, and is withdrawn if it moves the
 * link to a domain that was removed or renamed meanwhile.
 *
 * @returns the changed links without those that were removed meanwhile, and each link as it was under its lock. Call `settle` before the
 * request is answered; it returns the links as they are then, with an error in place of each whose change was withdrawn
 * @throws ApiError conflict; the error of `change`. No link was changed then
 */
export async function changeFoundLinks(
  deps: LinkRuleDeps,
  workspaceId: string,
  { found, context, contextFor, change }: FoundLinks,
) {
  const { links, domains } = deps.catalog;
  const asFound = new Map(found.map((record) => [record.id, record]));
  const before = new Map<string, LinkRecord>();
  const homeIds = new Map<string, string | undefined>();
  const stored = await links.updateMany(workspaceId, [...asFound.keys()], async (record) => {
    const isAsFound = CONTEXT_FIELDS.every((field) => asFound.get(record.id)?.[field] === record[field]);
    const next = await change(isAsFound ? context : await contextFor(record), record);
    before.set(record.id, record);
    if (next.domain !== record.domain) {
      const home = await domains.findBySlug(record.domain, API_READ);
      homeIds.set(record.id, home?.workspaceId === workspaceId ? home.id : undefined);
    }
    return next;
  });
  const moves = stored.flatMap((link): Move[] => {
    const former = before.get(link.id);
    return former && homeIds.has(link.id) ? [{ before: former, stored: link, homeId: homeIds.get(link.id) }] : [];
  });
  return {
    before: before as ReadonlyMap<string, LinkRecord>,
    stored,
    settle: (): Promise<readonly (LinkRecord | ApiError)[]> => settleChangedLinks(deps, workspaceId, stored, moves),
  };
}
