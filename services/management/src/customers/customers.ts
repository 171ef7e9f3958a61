import type { Catalog, CustomerRecord } from '@waymark/catalog';
import {
  ApiError,
  type CreateCustomerBody,
  EMAIL_RULE,
  EXTERNAL_ID_PREFIX,
  fieldError,
  isCustomerEmail,
  isWebAddress,
  type UpdateCustomerBody,
  WEB_ADDRESS_RULE,
} from '@waymark/contract';
import { CUSTOMER_CLAIM_MS, customerClaim } from '@waymark/event-queue';
import { findStoredAnswers, referencesInQueue, type StoredAnswerDeps } from './stored-answers.js';

/** Finds a customer by `cus_…` id or `ext_…` external id. @throws ApiError not_found */
export async function findCustomer(catalog: Catalog, workspaceId: string, id: string): Promise<CustomerRecord> {
  if (!id.startsWith(EXTERNAL_ID_PREFIX)) return catalog.customers.require(workspaceId, id);
  const found = await catalog.customers.findByExternalId(workspaceId, id.slice(EXTERNAL_ID_PREFIX.length));
  if (found === undefined) throw new ApiError('not_found', 'Customer not found.');
  return found;
}

/** `POST /customers`. @throws ApiError conflict when the external id is taken */
export async function createCustomer(
  { catalog, claimsOf }: StoredAnswerDeps,
  workspaceId: string,
  body: CreateCustomerBody,
): Promise<CustomerRecord> {
  const { externalId, email = null, name = null, avatar = null, stripeCustomerId = null, country } = body;
  const claims = await claimsOf(workspaceId);
  const create = async () => {
    // If this process is killed after the customer was stored, the claim expires.
    await claims.blockFilters(workspaceId);
    return catalog.customers.create(workspaceId, { externalId, email, name, avatar, stripeCustomerId, country });
  };
  // Takes the claim of the external id, because leads and sales create customers too.
  const created = await claims.runOnce(customerClaim(workspaceId, externalId), CUSTOMER_CLAIM_MS, create);
  if (created === undefined) throw externalIdTaken(externalId);
  return created;
}

function externalIdTaken(externalId: string): ApiError {
  return new ApiError('conflict', `A customer "${externalId}" exists already.`);
}

/**
 * Checks a new email and avatar. `/track/lead` stores any text as an avatar, and imports store any as an email, so the stored ones may be
 * sent back.
 *
 * @throws ApiError unprocessable_entity
 */
function checkFormats(stored: CustomerRecord, { email, avatar }: UpdateCustomerBody): void {
  if (email != null && email !== stored.email && !isCustomerEmail(email))
    throw fieldError('invalid_format', 'email', EMAIL_RULE);
  if (avatar != null && avatar !== stored.avatar && !isWebAddress(avatar))
    throw fieldError('invalid_format', 'avatar', WEB_ADDRESS_RULE);
}

/** Another request has renamed the customer meanwhile: giving it the external id that it had is a rename. */
class RenamedError extends Error {
  override readonly name = 'RenamedError';
}

/** `PATCH /customers/{id}`. @throws ApiError not_found, conflict when the external id is taken, unprocessable_entity */
export async function updateCustomer(
  deps: StoredAnswerDeps,
  workspaceId: string,
  id: string,
  body: UpdateCustomerBody,
): Promise<CustomerRecord> {
  const { catalog } = deps;
  const claims = await deps.claimsOf(workspaceId);
  const before = await findCustomer(catalog, workspaceId, id);
  checkFormats(before, body);
  const externalId = body.externalId ?? before.externalId;
  const removeClaims = async (externalIds: readonly string[]) => {
    await claims.blockFilters(workspaceId);
    await claims.remove(externalIds.map((one) => customerClaim(workspaceId, one)));
  };
  const isRename = externalId !== before.externalId;
  let externalIdBefore = before.externalId;
  const update = async () => {
    await claims.blockFilters(workspaceId);
    return catalog.customers.update(workspaceId, before.id, (customer) => {
      externalIdBefore = customer.externalId;
      if (!isRename && body.externalId !== undefined && externalId !== externalIdBefore) throw new RenamedError();
      const { email = customer.email, name = customer.name, avatar = customer.avatar } = body;
      const { stripeCustomerId = customer.stripeCustomerId, country = customer.country } = body;
      return { externalId: body.externalId ?? customer.externalId, email, name, avatar, stripeCustomerId, country };
    });
  };
  if (!isRename) {
    const updated = await update().catch((err: unknown) => {
      if (!(err instanceof RenamedError)) throw err;
    });
    if (updated === undefined) return updateCustomer(deps, workspaceId, before.id, body);
    // The claim has a copy of the customer for events that follow at once. That copy is out of date now.
    await removeClaims([...new Set([before.externalId, updated.externalId])]);
    return updated;
  }
  await claims.blockFilters(workspaceId);
  const oldClaim = customerClaim(workspaceId, before.externalId);
  const newClaim = customerClaim(workspaceId, externalId);
  // Until the rename is stored, events of the old external id would find this customer, and make that claim final with it.
  const underOld = <T>(work: () => Promise<T>) => claims.runAndRemove(oldClaim, work);
  const underNew = <T>(work: () => Promise<T>) => claims.runOnce(newClaim, CUSTOMER_CLAIM_MS, work);
  // In one order, so that customers that are renamed to each other's external ids do not wait for each other.
  const renamed = await (oldClaim < newClaim ? underOld(() => underNew(update)) : underNew(() => underOld(update)));
  if (renamed === undefined) throw externalIdTaken(externalId);
  // The claim may have expired before the rename was stored: an event that found the customer has made it final then. Another request may
  // have renamed the customer before.
  await removeClaims([...new Set([before.externalId, externalIdBefore])]);
  return renamed;
}

/**
 * Deletes the customer, its copy in Redis, and its data in stored answers. Its events stay; responses show them with a deleted customer.
 *
 * @returns its internal id; @throws ApiError not_found
 */
export async function deleteCustomer(deps: StoredAnswerDeps, workspaceId: string, id: string): Promise<string> {
  const { catalog } = deps;
  const customer = await findCustomer(catalog, workspaceId, id);
  const queued = await referencesInQueue(deps, workspaceId, [customer.id]);
  const removeAnswers = await findStoredAnswers(deps, workspaceId, customer.id, queued, 'keep');
  const claims = await deps.claimsOf(workspaceId);
  // Delete claims before and after: before, so that a crash leaves no stored answers; after, because an event may have added one.
  await removeAnswers(customer.externalId);
  // Until the removal is stored, events would find the customer, and make the claim of its external id final with it.
  const removed = await claims.runAndRemove(customerClaim(workspaceId, customer.externalId), () =>
    catalog.customers.remove(workspaceId, customer.id),
  );
  await removeAnswers(customer.externalId);
  // Another request may have changed the external id in the meantime.
  if (removed.externalId !== customer.externalId) await removeAnswers(removed.externalId);
  return customer.id;
}
