import { hash } from 'node:crypto';
import type { TrackSaleResponse } from '@waymark/contract';

/**
 * The names of all claims. If two different claims had the same name, an event would be lost silently. So free text is hashed or comes
 * last, where a separator in it does no harm.
 */

/** 96 bits of SHA-256, which also keeps personal data out of Redis. */
function digest(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 16);
}

/** First parts of the names of claims whose final values have the id of a click, or a copy of a customer or of an answer. Erasures look for them. */
export const COPYING_CLAIMS: readonly string[] = ['customer', 'lead-of', 'invoice'];

/** TTL of a click's claim: one click an hour is recorded per visitor and link. */
export const CLICK_CLAIM_MS = 3_600_000;

/**
 * The name of the claim that allows one recorded click per hour, link and visitor.
 *
 * @param identity hash that identifies the visitor
 */
export function clickClaim(linkId: string, identity: string): string {
  return `c:${linkId}:${identity}`;
}

/** The name by which leads are compared: names that differ only in case, or in spaces and hyphens, are the same. */
export function leadNameSlug(eventName: string): string {
  return eventName.toLowerCase().replaceAll(' ', '-');
}

/** TTL of a lead's claim. It is longer than a lead takes to reach ClickHouse, where it is looked up after that. */
export const LEAD_CLAIM_MS = 24 * 3_600_000;

/**
 * The name of the claim that allows one lead per customer and event name. Its final value is the id of the lead's click.
 *
 * @param customerId `cus_…`: an external id can be given to another customer
 */
export function leadClaim(workspaceId: string, customerId: string, eventName: string): string {
  return `lead-of:${workspaceId}:${digest(customerId, leadNameSlug(eventName))}`;
}

/** TTL of a customer's claim. It is longer than the queue takes to write the customer to ClickHouse, which is read after that. */
export const CUSTOMER_CLAIM_MS = 2 * 3_600_000;

/** The name of the claim that allows one customer per workspace and external id. Its final value is the customer's record as JSON. */
export function customerClaim(workspaceId: string, externalId: string): string {
  return `customer:${workspaceId}:${digest(externalId)}`;
}

/** TTL of the claims of a sale. It is longer than a sale takes to reach ClickHouse, where invoices and first sales are looked up after that. */
export const SALE_CLAIM_MS = 24 * 3_600_000;

/** The final value of an invoice's claim, as JSON: the answer to its sale. */
export interface InvoiceAnswer extends TrackSaleResponse {
  readonly linkId?: string;
}

/** The name of the claim that allows one sale per workspace and invoice. Its final value is an {@link InvoiceAnswer}. */
export function invoiceClaim(workspaceId: string, invoiceId: string): string {
  return `invoice:${workspaceId}:${digest(invoiceId)}`;
}

/** The name of the claim of a customer's first sale on a link, which is `new`; later ones are `recurring`. */
export function firstSaleClaim(workspaceId: string, customerId: string, linkId: string): string {
  return `first-sale:${workspaceId}:${customerId}:${linkId}`;
}
