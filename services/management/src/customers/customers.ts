import { pollUntil } from '@waymark/cache';
import type { Catalog, CustomerRecord } from '@waymark/catalog';
import { ApiError, type CreateCustomerBody, EXTERNAL_ID_PREFIX, type UpdateCustomerBody } from '@waymark/contract';
import { type ClaimAdmin, CUSTOMER_CLAIM_MS, customerClaim, invoiceClaim, leadClaim } from '@waymark/event-queue';

/** When the writer is well, what came with a customer is written by then. */
const WRITTEN = { withinMs: 2000, everyMs: 50 };

export interface CustomerParts {
  readonly catalog: Catalog;
  /** What the endpoints of `/track` store of customers and of their answers. */
  readonly claims: ClaimAdmin;
}

/** By `cus_…` id or `ext_…` external id. @throws ApiError not_found */
export async function findCustomer(catalog: Catalog, workspaceId: string, id: string): Promise<CustomerRecord> {
  if (!id.startsWith(EXTERNAL_ID_PREFIX)) return catalog.customers.require(workspaceId, id);
  const found = await catalog.customers.findByExternalId(workspaceId, id.slice(EXTERNAL_ID_PREFIX.length));
  if (found === undefined) throw new ApiError('not_found', 'Customer not found.');
  return found;
}

/** @throws ApiError conflict when the external id is taken */
export async function createCustomer(
  { catalog, claims }: CustomerParts,
  workspaceId: string,
  body: CreateCustomerBody,
): Promise<CustomerRecord> {
  const { externalId, email = null, name = null, avatar = null, stripeCustomerId = null, country } = body;
  const create = () =>
    catalog.customers.create(workspaceId, { externalId, email, name, avatar, stripeCustomerId, country });
  // Under the claim of the external id, as leads and sales make customers.
  const created = await claims.runOnce(customerClaim(workspaceId, externalId), CUSTOMER_CLAIM_MS, create);
  if (created === undefined) throw taken(externalId);
  return created;
}

function taken(externalId: string): ApiError {
  return new ApiError('conflict', `A customer "${externalId}" exists already.`);
}

/** @throws ApiError not_found, conflict when the external id is taken */
export async function updateCustomer(
  parts: CustomerParts,
  workspaceId: string,
  id: string,
  body: UpdateCustomerBody,
): Promise<CustomerRecord> {
  const { catalog, claims } = parts;
  const before = await findCustomer(catalog, workspaceId, id);
  const externalId = body.externalId ?? before.externalId;
  const update = () =>
    catalog.customers.update(workspaceId, before.id, (customer) => ({
      externalId: body.externalId ?? customer.externalId,
      email: body.email === undefined ? customer.email : body.email,
      name: body.name === undefined ? customer.name : body.name,
      avatar: body.avatar === undefined ? customer.avatar : body.avatar,
      stripeCustomerId: body.stripeCustomerId === undefined ? customer.stripeCustomerId : body.stripeCustomerId,
      country: body.country === undefined ? customer.country : body.country,
    }));
  const isRenamed = externalId !== before.externalId;
  // Killed in between, a copy of before would keep the old id from everybody, and events that name it with this customer.
  if (isRenamed) await claims.remove([customerClaim(workspaceId, before.externalId)]);
  const updated = isRenamed
    ? await claims.runOnce(customerClaim(workspaceId, externalId), CUSTOMER_CLAIM_MS, update)
    : await update();
  if (updated === undefined) throw taken(externalId);
  // Copies for events that follow at once are of before, but for the one that was just recorded.
  const names = new Set(isRenamed ? [before.externalId] : [before.externalId, updated.externalId]);
  await claims.remove([...names].map((name) => customerClaim(workspaceId, name)));
  return updated;
}

/**
 * Removes the customer, its copy for events that follow at once, and stored answers that mention it. Its events
 * stay, without a customer.
 *
 * @returns its internal id; @throws ApiError not_found
 */
export async function deleteCustomer(parts: CustomerParts, workspaceId: string, id: string): Promise<string> {
  const { catalog, claims } = parts;
  const customer = await findCustomer(catalog, workspaceId, id);
  // The names of stored answers that mention it are made from the events that created it.
  const isWritten = async () => !(await catalog.customers.isPending(workspaceId, customer.id));
  if (!(await isWritten())) await pollUntil(isWritten, WRITTEN);
  const { eventNames, invoiceIds } = await catalog.customers.traces(workspaceId, customer.id);
  const forget = (externalId: string) =>
    claims.remove([
      customerClaim(workspaceId, externalId),
      ...eventNames.map((name) => leadClaim(workspaceId, externalId, name)),
      ...invoiceIds.map((invoiceId) => invoiceClaim(workspaceId, invoiceId)),
    ]);
  // Killed in between, stored answers would outlive the customer; afterwards, as an event may have stored one anew.
  await forget(customer.externalId);
  const removed = await catalog.customers.remove(workspaceId, customer.id);
  await forget(customer.externalId);
  // Somebody may have changed its external id since it was found.
  if (removed.externalId !== customer.externalId) await forget(removed.externalId);
  return customer.id;
}
