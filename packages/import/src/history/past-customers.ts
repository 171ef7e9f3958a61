import type { Catalog, CustomerRecord, LinkRecord, NewCustomer } from '@waymark/catalog';
import { ApiError, customerExternalIdSchema, cutText } from '@waymark/contract';
import { type ClaimAdmin, customerClaim } from '@waymark/event-queue';
import { RowError } from '../model/source-link.js';
import type { PastCustomer } from './past-event.js';

/** Longest name and email that `/track` accepts; longer ones are cut. */
const TEXT_CHARS_MAX = 100;
const UNKNOWN_COUNTRY = 'Unknown';

/** What a customer is attributed to: the click of its first lead, or only a link. */
export interface FirstTouch {
  readonly link: LinkRecord;
  readonly clickId?: string;
  readonly clickedAtMs?: number;
  readonly country?: string;
}

function checkCustomer({ externalId }: PastCustomer): void {
  if (!customerExternalIdSchema.safeParse(externalId).success)
    throw new RowError('customer.externalId is not one that a customer may have here');
}

function fieldsOf(customer: PastCustomer, touch: FirstTouch | undefined): NewCustomer {
  const { externalId, name, email, avatar, stripeCustomerId } = customer;
  const country = customer.country ?? touch?.country ?? UNKNOWN_COUNTRY;
  return {
    externalId,
    name: name && cutText(name, TEXT_CHARS_MAX),
    email: email && cutText(email, TEXT_CHARS_MAX),
    avatar,
    stripeCustomerId,
    country: country === UNKNOWN_COUNTRY ? null : country,
    ...(touch !== undefined && {
      linkId: touch.link.id,
      programId: touch.link.programId,
      partnerId: touch.link.partnerId,
    }),
    ...(touch?.clickId !== undefined && {
      clickId: touch.clickId,
      clickedAt: new Date(touch.clickedAtMs ?? 0).toISOString(),
    }),
  };
}

/**
 * Finds the customers of a history, and creates missing ones. Holds the claim of a customer meanwhile, because `/track` may create the same
 * customer at the same time. Existing customers are not changed.
 *
 * @param claimMs TTL of the claim once the customer is stored: the time until look-ups find it
 */
export function createPastCustomers(
  { customers }: Pick<Catalog, 'customers'>,
  { claims, claimMs }: { readonly claims: ClaimAdmin; readonly claimMs: number },
  workspaceId: string,
) {
  async function findOrCreate(customer: PastCustomer, touch: FirstTouch | undefined) {
    const { externalId, createdAt } = customer;
    const find = () => customers.findByExternalId(workspaceId, externalId);
    const found = await find();
    if (found !== undefined) return { record: found, isNew: false };
    const create = async () => {
      await claims.blockFilters(workspaceId);
      return customers.create(workspaceId, fieldsOf(customer, touch), null, { createdAt: createdAt ?? undefined });
    };
    const created = await claims
      .runOnce(customerClaim(workspaceId, externalId), claimMs, create)
      .catch((err: unknown) => {
        // Another request has stored the customer between the look-up and the claim.
        if (err instanceof ApiError && err.code === 'conflict') return undefined;
        throw err;
      });
    if (created !== undefined) return { record: created, isNew: true };
    const createdByOther = await find();
    if (createdByOther === undefined) throw new RowError('its customer is being changed: import it again');
    return { record: createdByOther, isNew: false };
  }

  return {
    /** Finds or creates the customer. @throws RowError for an invalid external id, and while another request changes the customer */
    async ensure(
      customer: PastCustomer,
      touch?: FirstTouch,
    ): Promise<{ readonly record: CustomerRecord; readonly isNew: boolean }> {
      checkCustomer(customer);
      return findOrCreate(customer, touch);
    },
  };
}
export type PastCustomers = ReturnType<typeof createPastCustomers>;
