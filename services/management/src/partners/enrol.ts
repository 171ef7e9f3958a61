import type { PartnerRecord } from '@waymark/catalog';
import { workspaceLimits } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, type CreatePartnerBody, type Partner } from '@waymark/contract';
import { contextOf } from '../links/create-link.js';
import { completeLink, draftLink } from '../links/draft-link.js';
import type { LinkParts } from '../links/link-parts.js';
import { checkUsage } from '../links/usage.js';
import type { PartnerCaller } from './partner-caller.js';
import { ensureFirstLink, linkBody } from './partner-links.js';
import { partnerObjects } from './partner-object.js';

const ENROL_TRIES = 3;

/** The one partner object of a record. */
export async function onePartner(parts: LinkParts, caller: PartnerCaller, record: PartnerRecord): Promise<Partner> {
  const [partner] = await partnerObjects(parts.catalog, caller.workspace.id, caller.program.id, [record]);
  if (partner === undefined) throw new TypeError('an object a record');
  return partner;
}

/** A partner's first link is checked before the partner exists. @throws ApiError 400, 403, 404 or 422 */
async function checkLink(
  parts: LinkParts,
  caller: PartnerCaller,
  body: CreateLinkBody,
  username: string | null | undefined,
): Promise<void> {
  await checkUsage(parts, caller.workspace);
  const context = await contextOf(parts, caller, [body]);
  const keyed = username ? { ...body, key: username } : body;
  try {
    completeLink(context, keyed, draftLink(context, keyed));
  } catch (err) {
    // Keys that cannot be had get a suffix.
    if (!(err instanceof ApiError && err.code === 'conflict')) throw err;
  }
}

/** The partner with the tenantId asked for, its links as well. @throws ApiError conflict when another has it */
async function withTenant(
  { catalog }: LinkParts,
  partner: PartnerRecord,
  tenantId: string | undefined,
): Promise<PartnerRecord> {
  if (tenantId === undefined || tenantId === partner.tenantId) return partner;
  const updated = await catalog.partners.update(partner.workspaceId, partner.id, () => ({ tenantId }));
  await catalog.partners.changeLinks(partner.workspaceId, partner.id, (link) =>
    link.tenantId === tenantId ? link : { ...link, tenantId },
  );
  return updated;
}

/** Somebody who is enrolled already, by email or by tenantId; undefined when nobody is. */
async function findEnrolled(
  parts: LinkParts,
  workspaceId: string,
  email: string,
  tenantId: string | undefined,
): Promise<PartnerRecord | undefined> {
  const { partners } = parts.catalog;
  const byEmail = await partners.findByEmail(workspaceId, email);
  if (byEmail !== undefined) return withTenant(parts, byEmail, tenantId);
  return tenantId === undefined ? undefined : partners.findByTenantId(workspaceId, tenantId);
}

function newPartner(caller: PartnerCaller, body: CreatePartnerBody, email: string, tenantId: string | undefined) {
  const { program } = caller;
  return {
    name: body.name || email,
    username: body.username || null,
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
  const email = body.email.toLowerCase();
  const tenantId = body.tenantId || undefined;
  const { partners: countMax } = workspaceLimits(workspace).quotas;
  for (let tries = 1; ; tries++) {
    const enrolled = await findEnrolled(parts, workspace.id, email, tenantId);
    if (enrolled !== undefined) return { partner: enrolled, isNew: false };
    try {
      const wanted = newPartner(caller, body, email, tenantId);
      return { partner: await parts.catalog.partners.create(workspace.id, wanted, countMax), isNew: true };
    } catch (err) {
      if (!(err instanceof ApiError && err.code === 'conflict') || tries === ENROL_TRIES) throw err;
    }
  }
}

/** `POST /partners`: the three cases of spec 5.5. @throws ApiError 400, 403, 404, 409 or 422 */
export async function enrolPartner(parts: LinkParts, caller: PartnerCaller, body: CreatePartnerBody): Promise<Partner> {
  const { catalog, notifier } = parts;
  if (body.groupId) await catalog.groups.require(caller.workspace.id, body.groupId);
  const link = await linkBody(parts, caller, { props: body.linkProps });
  await checkLink(parts, caller, link, body.username);
  const { partner, isNew } = await enrolOnce(parts, caller, body);
  await ensureFirstLink(parts, caller, partner, link);
  const answer = await onePartner(parts, caller, partner);
  if (isNew) await notifier.partnerEnrolled(caller.workspace.id, answer);
  return answer;
}
