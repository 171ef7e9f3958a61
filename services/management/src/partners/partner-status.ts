import type { PartnerRecord } from '@waymark/catalog';
import { ApiError, type PartnerApplication, type RejectApplicationBody } from '@waymark/contract';
import type { LinkParts } from '../links/link-parts.js';
import { onePartner } from './enrol.js';
import { findPartner, type PartnerReference } from './find-partner.js';
import type { PartnerCaller } from './partner-caller.js';
import { disableLinks, ensureFirstLink, linkBody } from './partner-links.js';

const isoNow = ({ now }: LinkParts) => new Date(now()).toISOString();

/** `POST /partners/ban`. Banning again completes a ban that was killed on the way. @throws ApiError 400 or 404 */
export async function banPartner(
  parts: LinkParts,
  { workspace }: PartnerCaller,
  body: PartnerReference & { readonly reason: string },
): Promise<string> {
  const { catalog } = parts;
  const { id } = await findPartner(catalog, workspace.id, body);
  const bannedAt = isoNow(parts);
  const banned = await catalog.partners.update(workspace.id, id, (partner) =>
    partner.status === 'banned' ? {} : { status: 'banned', bannedAt, bannedReason: body.reason },
  );
  await disableLinks(catalog, banned, bannedAt);
  return id;
}

const MAY_BE_DEACTIVATED: readonly PartnerRecord['status'][] = ['approved', 'archived'];

/** `POST /partners/deactivate`. @throws ApiError bad_request from another status, not_found */
export async function deactivatePartner(
  { catalog }: LinkParts,
  { workspace }: PartnerCaller,
  reference: PartnerReference,
): Promise<string> {
  const { id } = await findPartner(catalog, workspace.id, reference);
  await catalog.partners.update(workspace.id, id, ({ status }) => {
    if (MAY_BE_DEACTIVATED.includes(status)) return { status: 'deactivated' };
    throw new ApiError('bad_request', `A partner that is ${status} cannot be deactivated.`);
  });
  return id;
}

/** An application as it is listed: the partner to be. */
export function applicationObject(record: PartnerRecord): PartnerApplication {
  const { id, name, companyName, email, image, description, country, groupId, status, createdAt } = record;
  const partner = { id, name, companyName, email, image, description, country, groupId, status };
  return { id, createdAt, partner, applicationFormData: record.applicationFormData };
}

function checkPending({ status }: PartnerRecord): void {
  if (status !== 'pending') throw new ApiError('bad_request', `The application is ${status}, not pending.`);
}

/** `POST /partners/applications/approve`: the applicant is a partner, with a first link. @throws ApiError 400 or 404 */
export async function approveApplication(
  parts: LinkParts,
  caller: PartnerCaller,
  body: { readonly partnerId: string; readonly groupId?: string | null | undefined },
): Promise<string> {
  const { catalog, notifier } = parts;
  const { workspace, program } = caller;
  if (body.groupId) await catalog.groups.require(workspace.id, body.groupId);
  const link = await linkBody(parts, caller, { props: undefined });
  const partner = await catalog.partners.update(workspace.id, body.partnerId, (record) => {
    checkPending(record);
    const groupId = body.groupId || record.groupId || program.defaultGroupId;
    return { status: 'approved', groupId, programId: program.id, rejection: null };
  });
  await ensureFirstLink(parts, caller, partner, link);
  await notifier.partnerEnrolled(workspace.id, await onePartner(parts, caller, partner));
  return partner.id;
}

/** `POST /partners/applications/reject`. @throws ApiError 400, 404 or 422 */
export async function rejectApplication(
  parts: LinkParts,
  { workspace }: PartnerCaller,
  body: RejectApplicationBody,
): Promise<string> {
  if (body.flagForFraud && body.reapplicationTimeframe === 'instant') {
    throw new ApiError('unprocessable_entity', 'custom: flagForFraud: excludes the reapplicationTimeframe "instant"');
  }
  const rejection = {
    reason: body.rejectionReason ?? null,
    note: body.rejectionNote || null,
    timeframe: body.reapplicationTimeframe,
    isFraud: body.flagForFraud ?? false,
    fraudReason: body.flagForFraudReason || null,
    at: isoNow(parts),
  };
  const { id } = await parts.catalog.partners.update(workspace.id, body.partnerId, (record) => {
    checkPending(record);
    return { status: 'rejected', rejection };
  });
  return id;
}
