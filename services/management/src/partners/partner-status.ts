import type { PartnerRecord } from '@waymark/catalog';
import { ApiError, fieldError, type PartnerApplication, type RejectApplicationBody } from '@waymark/contract';
import { checkLinkQuota, completeLink, draftLink, linkContext } from '@waymark/link-rules';
import type { LinkDeps } from '../links/link-deps.js';
import { notifyEnrolled } from './enrol.js';
import { findPartner, type PartnerReference } from './find-partner.js';
import type { PartnerCaller } from './partner-caller.js';
import { ensureFirstLink, lacksFirstLink, linkBody } from './partner-links.js';

const isoNow = ({ now }: LinkDeps) => new Date(now()).toISOString();

type Status = PartnerRecord['status'];

/** @throws ApiError bad_request when the status of the partner is not in `from`; @param what the change, for the message */
function checkStatus({ status }: PartnerRecord, from: readonly Status[], what: string): void {
  if (!from.includes(status)) throw new ApiError('bad_request', `A partner that is ${status} cannot be ${what}.`);
}

const APPROVED = { status: 'approved', bannedAt: null, bannedReason: null } as const;

/** `POST /partners/ban`. A repeated request completes one that was interrupted. @throws ApiError 400 or 404 */
export async function banPartner(
  deps: LinkDeps,
  { workspace }: PartnerCaller,
  body: PartnerReference & { readonly reason: string },
): Promise<string> {
  const { partners } = deps.catalog;
  const { id } = await findPartner(deps.catalog, workspace.id, body);
  await partners.update(workspace.id, id, ({ status }) =>
    status === 'banned' ? {} : { status: 'banned', bannedAt: isoNow(deps), bannedReason: body.reason },
  );
  // From here on the links count as disabled. The ban is also copied to them, for reads that cannot load the partner.
  await partners.applyBanToLinks(workspace.id, id);
  return id;
}

/** `POST /partners/unban`. @throws ApiError bad_request from another status, not_found */
export async function unbanPartner(
  { catalog }: LinkDeps,
  { workspace }: PartnerCaller,
  reference: PartnerReference,
): Promise<string> {
  const { id } = await findPartner(catalog, workspace.id, reference);
  const unban = catalog.partners.update(workspace.id, id, (partner) => {
    checkStatus(partner, ['banned'], 'unbanned');
    return APPROVED;
  });
  // Also after an error, because an earlier request may have lifted the ban and been interrupted before the last link.
  await unban.finally(() => catalog.partners.applyBanToLinks(workspace.id, id));
  return id;
}

/** `POST /partners/deactivate`. From then on its links count as expired. @throws ApiError bad_request from another status, not_found */
export async function deactivatePartner(
  deps: LinkDeps,
  { workspace }: PartnerCaller,
  reference: PartnerReference,
): Promise<string> {
  const { id } = await findPartner(deps.catalog, workspace.id, reference);
  await deps.catalog.partners.update(workspace.id, id, (partner) => {
    checkStatus(partner, ['approved', 'archived'], 'deactivated');
    return { status: 'deactivated', bannedAt: isoNow(deps), bannedReason: null };
  });
  return id;
}

/** `POST /partners/reactivate`. @throws ApiError bad_request from another status, not_found */
export async function reactivatePartner(
  { catalog }: LinkDeps,
  { workspace }: PartnerCaller,
  reference: PartnerReference,
): Promise<string> {
  const { id } = await findPartner(catalog, workspace.id, reference);
  await catalog.partners.update(workspace.id, id, (partner) => {
    checkStatus(partner, ['deactivated'], 'reactivated');
    return APPROVED;
  });
  return id;
}

/** The application object of a pending partner. */
export function applicationObject(record: PartnerRecord): PartnerApplication {
  const { id, name, companyName, email, image, description, country, groupId, status, createdAt } = record;
  const partner = { id, name, companyName, email, image, description, country, groupId, status };
  const applicationFormData = record.applicationFormData?.map(({ label, value }) => ({ label, value })) ?? null;
  return { id, createdAt, partner, applicationFormData };
}

/** @throws ApiError bad_request when the application is already decided */
function checkPending({ status }: PartnerRecord): void {
  if (status !== 'pending') throw new ApiError('bad_request', `The application is ${status}, not pending.`);
}

/**
 * `POST /partners/applications/approve`: makes the applicant a partner with a first link. A repeated request completes one that was
 * interrupted before the link was created.
 *
 * @throws ApiError 400, 403, 404, 422 or 429
 */
export async function approveApplication(
  deps: LinkDeps,
  caller: PartnerCaller,
  body: { readonly partnerId: string; readonly groupId?: string | null | undefined },
): Promise<string> {
  const { catalog } = deps;
  const { workspace, program } = caller;
  await deps.notifier.assertQueueCapacity(workspace.id, 'partner.enrolled', 'link.created');
  if (body.groupId) await catalog.groups.require(workspace.id, body.groupId);
  const link = await linkBody(deps, caller, { props: undefined });
  await checkLinkQuota(deps, workspace);
  const context = await linkContext(deps, caller, [link]);
  completeLink(context, link, draftLink(context, link));
  let isEnrolled = false;
  const partner = await catalog.partners.update(workspace.id, body.partnerId, async (record) => {
    if (await lacksFirstLink(catalog, record)) return {};
    checkPending(record);
    isEnrolled = true;
    const groupId = body.groupId || record.groupId || program.defaultGroupId;
    return { status: 'approved', groupId, programId: program.id, rejection: null };
  });
  try {
    isEnrolled = (await ensureFirstLink(deps, caller, partner, link)) || isEnrolled;
  } finally {
    // Also without its link: the partner stays approved.
    if (isEnrolled) await notifyEnrolled(deps, caller, partner);
  }
  return partner.id;
}

/** `POST /partners/applications/reject`. @throws ApiError 400, 404 or 422 */
export async function rejectApplication(
  deps: LinkDeps,
  { workspace }: PartnerCaller,
  body: RejectApplicationBody,
): Promise<string> {
  if (body.flagForFraud && body.reapplicationTimeframe === 'instant') {
    throw fieldError(
      'invalid_combination',
      'flagForFraud',
      'cannot be used together with the reapplicationTimeframe "instant"',
    );
  }
  const rejection = {
    reason: body.rejectionReason ?? null,
    note: body.rejectionNote || null,
    timeframe: body.reapplicationTimeframe,
    isFraud: body.flagForFraud ?? false,
    fraudReason: body.flagForFraudReason || null,
    at: isoNow(deps),
  };
  const { id } = await deps.catalog.partners.update(workspace.id, body.partnerId, (record) => {
    checkPending(record);
    return { status: 'rejected', rejection };
  });
  return id;
}
