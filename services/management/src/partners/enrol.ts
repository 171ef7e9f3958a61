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
import { checkLinkQuota, completeLink, draftLink, linkContext } from '@waymark/link-rules';
import type { LinkDeps } from '../links/link-deps.js';
import { type PartnerCaller, partnersScope } from './partner-caller.js';
import {
  assertExternalIdFree,
  ensureFirstLink,
  firstKey,
  lacksFirstLink,
  linkBody,
  requestField,
  suffixedKey,
} from './partner-links.js';
import { type PartnersScope, partnerObjects } from './partner-object.js';

const ENROL_ATTEMPTS = 3;

/** The partner object of a record. */
async function partnerObjectIn({ catalog }: LinkDeps, scope: PartnersScope, record: PartnerRecord): Promise<Partner> {
  const [partner] = await partnerObjects(catalog, scope, [record]);
  if (partner === undefined) throw new TypeError('no partner object for the record');
  return partner;
}

/**
 * Queues the webhook event `partner.enrolled`, once for a partner, however often it is called. It includes links in folders that are hidden
 * from the caller. It does not reject.
 */
export async function notifyEnrolled(deps: LinkDeps, caller: PartnerCaller, record: PartnerRecord): Promise<void> {
  const scope = { workspaceId: caller.workspace.id, programId: caller.program.id, hidesFolders: false };
  await deps.notifier.partnerEnrolled(caller.workspace.id, record.id, () => partnerObjectIn(deps, scope, record));
}

/** The partner object of a record, without links in folders that are hidden from the caller. */
export async function visiblePartner(deps: LinkDeps, caller: PartnerCaller, record: PartnerRecord): Promise<Partner> {
  return partnerObjectIn(deps, await partnersScope(deps, caller), record);
}

/** Sets the tenantId of the partner and its links. @throws ApiError conflict when another partner has it */
async function withTenant(
  { catalog }: LinkDeps,
  partner: PartnerRecord,
  tenantId: string | undefined,
): Promise<PartnerRecord> {
  if (tenantId === undefined) return partner;
  const { workspaceId, id } = partner;
  const updated =
    tenantId === partner.tenantId ? partner : await catalog.partners.update(workspaceId, id, () => ({ tenantId }));
  // Always, because an earlier request may have been interrupted before this step.
  await catalog.partners.copyTenantToLinks(workspaceId, id, tenantId);
  return updated;
}

/** The fields that identify a partner. */
interface Identity {
  readonly email: string;
  readonly tenantId: string | undefined;
}

const identityOf = ({ email, tenantId }: CreatePartnerBody): Identity => ({
  email,
  tenantId: tenantId || undefined,
});

/** An existing partner with that email or tenantId; undefined when there is none. */
async function findEnrolled(
  { catalog: { partners } }: LinkDeps,
  workspaceId: string,
  { email, tenantId }: Identity,
): Promise<PartnerRecord | undefined> {
  const byEmail = await partners.findByEmail(workspaceId, email);
  return byEmail ?? (tenantId === undefined ? undefined : partners.findByTenantId(workspaceId, tenantId));
}

/** Validates a username, which becomes the key of a link and must not be the root key. @throws ApiError 422 or 403 */
function checkUsername(username: string): void {
  checkKey(username, 'username');
  if (normaliseKey(username) !== ROOT_KEY) return;
  throw fieldError('invalid_format', 'username', 'must be neither "_root" nor slashes alone');
}

/**
 * The body of the first link of a new partner, validated before the partner is created; undefined when no link is needed.
 *
 * @throws ApiError 400, 403, 404, 409 or 422
 */
async function firstLinkBody(
  deps: LinkDeps,
  caller: PartnerCaller,
  { username, linkProps, ...body }: CreatePartnerBody,
): Promise<CreateLinkBody | undefined> {
  const identity = identityOf(body);
  const enrolled = await findEnrolled(deps, caller.workspace.id, identity);
  if (enrolled !== undefined && !(await lacksFirstLink(deps.catalog, enrolled))) return undefined;
  const link = await linkBody(deps, caller, { props: linkProps });
  await checkLinkQuota(deps, caller.workspace);
  if (username) checkUsername(username);
  const key = firstKey(enrolled ?? newPartner(caller, { username, ...body }, identity), link.prefix);
  // Validated with a suffix, because the key gets one if it is taken.
  const keyed = key === undefined ? link : { ...link, key: suffixedKey(key) };
  // Keys derived from a name are valid, so only the prefix can make the key invalid.
  return mapErrorFields(requestField(linkProps, 'linkProps.prefix'), async () => {
    const context = await linkContext(deps, caller, [link]);
    completeLink(context, keyed, draftLink(context, keyed));
    await assertExternalIdFree(deps, caller, link);
    return link;
  });
}

/** The fields of a new partner. */
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

/** Finds or creates the partner. Only one of several concurrent enrolments with the same email or tenantId creates it. */
async function enrolOnce(deps: LinkDeps, caller: PartnerCaller, body: CreatePartnerBody): Promise<Enrolment> {
  const { workspace } = caller;
  const identity = identityOf(body);
  const { partners: countMax } = workspaceLimits(workspace).quotas;
  for (let tries = 1; ; tries++) {
    const enrolled = await findEnrolled(deps, workspace.id, identity);
    if (enrolled !== undefined) return { partner: await withTenant(deps, enrolled, identity.tenantId), isNew: false };
    try {
      const fields = newPartner(caller, body, identity);
      return { partner: await deps.catalog.partners.create(workspace.id, fields, countMax), isNew: true };
    } catch (err) {
      if (!(err instanceof ApiError && err.code === 'conflict') || tries === ENROL_ATTEMPTS) throw err;
    }
  }
}

/** `POST /partners`: enrols a partner, or returns the existing one. @throws ApiError 400, 403, 404, 409, 422 or 429 */
export async function enrolPartner(deps: LinkDeps, caller: PartnerCaller, body: CreatePartnerBody): Promise<Partner> {
  const { catalog } = deps;
  await deps.notifier.assertQueueCapacity(caller.workspace.id, 'partner.enrolled', 'link.created');
  if (body.groupId) await catalog.groups.require(caller.workspace.id, body.groupId);
  const link = await firstLinkBody(deps, caller, body);
  const { partner, isNew } = await enrolOnce(deps, caller, body);
  // An earlier request that was killed before it created the link has not sent the event either.
  let isEnrolled = isNew;
  try {
    if (link !== undefined) isEnrolled = (await ensureFirstLink(deps, caller, partner, link)) || isNew;
  } finally {
    // Also without its link: the partner stays.
    if (isEnrolled) await notifyEnrolled(deps, caller, partner);
  }
  return visiblePartner(deps, caller, partner);
}
