import { isDeepStrictEqual } from 'node:util';
import { type Catalog, type LinkRecord, readUtm, storedKey } from '@waymark/catalog';
import { ROOT_KEY, type UpdateLinkBody } from '@waymark/contract';
import { domainOf, externalIdOf } from './draft-link.js';
import { checkChosenKey } from './key-rules.js';
import { destinationOf, plainFields, variantsOf } from './link-fields.js';
import { checkFolderAccess, type LinkContext, namedFields } from './named-fields.js';
import { checkPlan, type GatedLink } from './plan-gates.js';
import { dateFields } from './request-date.js';

type Passwords = Pick<Catalog['links'], 'passwordOf' | 'sealPassword'>;

/** What the link would ask of the plan. */
function gatedLink(record: LinkRecord, body: UpdateLinkBody, url: string): GatedLink {
  const given = Object.fromEntries(Object.entries(body).filter(([_field, value]) => value !== undefined));
  return { ...record, password: record.encryptedPassword, ...given, isRoot: record.key === ROOT_KEY, url };
}

/** Domain and key; a root link keeps both (spec 4.7). */
function addressOf({ references, workspace }: LinkContext, record: LinkRecord, body: UpdateLinkBody) {
  const { domain, key } = record;
  if (key === ROOT_KEY || (!body.domain && typeof body.key !== 'string')) return { domain, key };
  const next = body.domain
    ? domainOf(references, body.domain)
    : { slug: domain, isShared: !references.ownDomains.has(domain) };
  const nextKey = body.key ?? key;
  if (next.slug !== domain || storedKey(nextKey) !== key) checkChosenKey(nextKey, workspace, next.isShared);
  return { domain: next.slug, key: storedKey(nextKey) };
}

function encryptedPasswordOf(
  passwords: Passwords,
  record: LinkRecord,
  given: string | null | undefined,
): string | null {
  if (given === undefined || given === passwords.passwordOf(record)) return record.encryptedPassword;
  return given ? passwords.sealPassword(given, record.id) : null;
}

/**
 * The link as the body changes it: what is absent stays, null clears (spec 4.7). The very record when nothing changes.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
export function changedLink(
  context: LinkContext,
  passwords: Passwords,
  record: LinkRecord,
  body: UpdateLinkBody,
): LinkRecord {
  if (record.folderId !== null) checkFolderAccess(context, context.references.folders.get(record.folderId));
  const url = destinationOf(body.url ?? record.url, body, record.key === ROOT_KEY);
  const plain = plainFields(body);
  checkPlan(context.workspace.plan, gatedLink(record, body, url));
  const isConversionTracked = plain.trackConversion ?? record.trackConversion;
  const variants = body.testVariants === undefined ? record.testVariants : body.testVariants;
  const next: LinkRecord = {
    ...record,
    ...plain,
    testVariants: variantsOf(variants, isConversionTracked),
    url,
    ...readUtm(url),
    ...addressOf(context, record, body),
    externalId: body.externalId === undefined ? record.externalId : externalIdOf(body.externalId),
    encryptedPassword: encryptedPasswordOf(passwords, record, body.password),
    ...namedFields(context, body),
    ...dateFields(body, context.nowMs),
  };
  return isDeepStrictEqual(next, record) ? record : next;
}
