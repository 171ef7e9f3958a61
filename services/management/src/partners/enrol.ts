import { checkKey, normaliseKey, type PartnerRecord, workspaceLimits } from '@waymark/catalog';
import {
  ApiError,
  type CreateLinkBody,
  type CreatePartnerBody,
  fieldError,
  mapErrorFields,
  type Partner,
  ROOT_KEY,
  trimCharacter,
} from '@waymark/contract';
import { contextOf } from '../links/create/create-link.js';
import { completeLink, draftLink } from '../links/create/draft-link.js';
import { checkUsage } from '../links/create/usage.js';
import type { LinkParts } from '../links/link-parts.js';
import { type PartnerCaller, partnersScope } from './partner-caller.js';
import {
  assertExternalIdFree,
  ensureFirstLink,
  firstKey,
  lacksFirstLink,
  linkBody,
  placeInProps,
  suffixedKey,
} from './partner-links.js';
import { type PartnersScope, partnerObjects } from './partner-object.js';

const ENROL_TRIES = 3;

/** The one partner object of a record. */
async function partnerIn({ catalog }: LinkParts, scope: PartnersScope, record: PartnerRecord): Promise<Partner> {
  const [partner] = await partnerObjects(catalog, scope, [record]);
  if (partner === undefined) throw new TypeError('an object a record');
  return partner;
}

/** Tells webhooks of a new partner: all of it, whoever enrolled it. */
export async function tellEnrolled(parts: LinkParts, caller: PartnerCaller, record: PartnerRecord): Promise<void> {
  const scope = { workspaceId: caller.workspace.id, programId: caller.program.id, hidesFolders: false };
  await parts.notifier.partnerEnrolled(caller.workspace.id, await partnerIn(parts, scope, record));
}

/** The partner object of a record as the caller may see it. */
export async function onePartner(parts: LinkParts, caller: PartnerCaller, record: PartnerRecord): Promise<Partner> {
  return partnerIn(parts, await partnersScope(parts, caller), record);
}

/** The partner with the tenantId asked for, its links as well. @throws ApiError conflict when another has it */
async function withTenant(
  { catalog }: LinkParts,
  partner: PartnerRecord,
  tenantId: string | undefined,
): Promise<PartnerRecord> {
  if (tenantId === undefined || tenantId === partner.tenantId) return partner;
  const updated = await catalog.partners.update(partner.workspaceId, partner.id, () => ({ tenantId }));
  await catalog.partners.tenantToLinks(partner.workspaceId, partner.id, tenantId);
  return updated;
}

/** What identifies a partner; the email in any case. */
interface Identity {
  readonly email: string;
  readonly tenantId: string | undefined;
}

const identityOf = ({ email, tenantId }: CreatePartnerBody): Identity => ({
  email,
  tenantId: tenantId || undefined,
});

/** Somebody who is enrolled already, by email or by tenantId; undefined when there is none. */
async function findEnrolled(
  { catalog: { partners } }: LinkParts,
  workspaceId: string,
  { email, tenantId }: Identity,
): Promise<PartnerRecord | undefined> {
  const byEmail = await partners.findByEmail(workspaceId, email);
  return byEmail ?? (tenantId === undefined ? undefined : partners.findByTenantId(workspaceId, tenantId));
}

/** The key of a partner's link is never that of a domain itself. @throws ApiError 422 or 403 */
function checkUsername(username: string): void {
  checkKey(username, 'username');
  if (normaliseKey(username) !== ROOT_KEY) return;
  throw fieldError('invalid_format', 'username', 'must be neither "_root" nor slashes alone');
}

/**
 * The first link that an enrolment is to make, checked before the partner exists; undefined when it makes none.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
async function wantedLink(
  parts: LinkParts,
  caller: PartnerCaller,
  { username, linkProps, ...body }: CreatePartnerBody,
): Promise<CreateLinkBody | undefined> {
  const identity = identityOf(body);
  const enrolled = await findEnrolled(parts, caller.workspace.id, identity);
  if (enrolled !== undefined && !(await lacksFirstLink(parts.catalog, enrolled))) return undefined;
  const link = await linkBody(parts, caller, { props: linkProps });
  await checkUsage(parts, caller.workspace);
  if (username) checkUsername(username);
  const key = firstKey(enrolled ?? newPartner(caller, { username, ...body }, identity), link.prefix);
  // A key that cannot be had gets a suffix.
  const keyed = key === undefined ? link : { ...link, key: suffixedKey(key) };
  // What is derived from a name is a key: only the prefix can make it none.
  return mapErrorFields(placeInProps(linkProps, 'linkProps.prefix'), async () => {
    const context = await contextOf(parts, caller, [link]);
    completeLink(context, keyed, draftLink(context, keyed));
    await assertExternalIdFree(parts, caller, link);
    return link;
  });
}

function newPartner(caller: PartnerCaller, body: CreatePartnerBody, { email, tenantId }: Identity) {
  const { program } = caller;
  return {
    name: body.name || email,
    username: trimCharacter(body.username ?? '', '/') || null,
    email,
    image: body.image || null,
    country: body.country ?? null,
    description: body.description || null,
    tenantId: tenantId ?? null,
    groupId: body.groupId || program.defaultGroupId,
    programId: program.id,
    status: 'approved' as const,
  };
}

interface Enrolment {
  readonly partner: PartnerRecord;
  readonly isNew: boolean;
}

/** Of many enrolments of one email or tenantId at once a single one creates; the others find it. */
async function enrolOnce(parts: LinkParts, caller: PartnerCaller, body: CreatePartnerBody): Promise<Enrolment> {
  const { workspace } = caller;
  const identity = identityOf(body);
  const { partners: countMax } = workspaceLimits(workspace).quotas;
  for (let tries = 1; ; tries++) {
    const enrolled = await findEnrolled(parts, workspace.id, identity);
    if (enrolled !== undefined) return { partner: await withTenant(parts, enrolled, identity.tenantId), isNew: false };
    try {
      const wanted = newPartner(caller, body, identity);
      return { partner: await parts.catalog.partners.create(workspace.id, wanted, countMax), isNew: true };
    } catch (err) {
      if (!(err instanceof ApiError && err.code === 'conflict') || tries === ENROL_TRIES) throw err;
    }
  }
}

/** `POST /partners`: enrols somebody, or answers the enrolment that there is. @throws ApiError 400, 403, 404, 409 or 422 */
export async function enrolPartner(parts: LinkParts, caller: PartnerCaller, body: CreatePartnerBody): Promise<Partner> {
  const { catalog } = parts;
  if (body.groupId) await catalog.groups.require(caller.workspace.id, body.groupId);
  const link = await wantedLink(parts, caller, body);
  const { partner, isNew } = await enrolOnce(parts, caller, body);
  if (link !== undefined) await ensureFirstLink(parts, caller, partner, link);
  if (isNew) await tellEnrolled(parts, caller, partner);
  return onePartner(parts, caller, partner);
}
