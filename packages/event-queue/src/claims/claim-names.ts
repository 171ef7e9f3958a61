import { hash } from 'node:crypto';

/**
 * Names of claims, all in one place: two names that could be equal would silently swallow an event. Free text comes last, or
 * is hashed, so that no text can imitate a separator.
 */

/** 96 bits of SHA-256. The text of customers stays out of Redis. */
function digest(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 16);
}

/**
 * One recorded click an hour per link and visitor.
 *
 * @param identity a digest already
 */
export function clickClaim(linkId: string, identity: string): string {
  return `c:${linkId}:${identity}`;
}

/** A lead of one name counts once for a customer; names that differ in case or spaces are one. */
export function leadClaim(workspaceId: string, customerExternalId: string, eventName: string): string {
  const slug = eventName.toLowerCase().replaceAll(' ', '-');
  return `lead:${workspaceId}:${digest(customerExternalId, slug)}`;
}

/** How long a customer stays under its claim: longer than it takes to reach ClickHouse, where it is found after that. */
export const CUSTOMER_CLAIM_MS = 2 * 3_600_000;

/** One customer per external id of a workspace. */
export function customerClaim(workspaceId: string, externalId: string): string {
  return `customer:${workspaceId}:${digest(externalId)}`;
}

/** One sale per invoice of a workspace. */
export function invoiceClaim(workspaceId: string, invoiceId: string): string {
  return `invoice:${workspaceId}:${digest(invoiceId)}`;
}

/** Decides `new` or `recurring`: the first accepted sale of a customer on a link. */
export function firstSaleClaim(workspaceId: string, customerId: string, linkId: string): string {
  return `first-sale:${workspaceId}:${customerId}:${linkId}`;
}
