import {
  type Catalog,
  type CustomerRecord,
  type ErasureRecord,
  type ErasureSubject,
  unavailable,
} from '@waymark/catalog';
import {
  ApiError,
  customerExternalIdSchema,
  type ErasureMode,
  EXTERNAL_ID_PREFIX,
  parseResourceId,
} from '@waymark/contract';
import {
  customerClaim,
  findPendingCustomer,
  type QueuedReferences,
  removePendingCustomers,
} from '@waymark/event-queue';
import { NotReplicatedError, type Replication } from '@waymark/redis';
import { eraseWaitingBodies } from '@waymark/webhooks';
import { findStoredAnswers, referencesInQueue, type StoredAnswerDeps } from '../customers/stored-answers.js';

/** Dependencies of {@link eraseCustomer}. */
export interface ErasureDeps extends StoredAnswerDeps {
  /** Of each connection of `queueShards`: the replicas that must have what was removed before the erasure is answered. */
  readonly replications: readonly Replication[];
}

/** Ids of customers that had the external id before. Leaves out those with another external id now, who may be other people. */
async function formerCustomers(catalog: Catalog, workspaceId: string, externalId: string): Promise<string[]> {
  const ids = await catalog.erasures.customersWithExternalId(workspaceId, externalId);
  const present = await catalog.customers.getMany(workspaceId, ids);
  return ids.filter((id) => (present.get(id)?.externalId ?? externalId) === externalId);
}

/** The person to erase. @throws ApiError not_found for an id that the workspace never had, and for an invalid external id */
async function subjectOf(catalog: Catalog, workspaceId: string, id: string): Promise<ErasureSubject> {
  const notFound = () => new ApiError('not_found', 'Customer not found.');
  if (id.startsWith(EXTERNAL_ID_PREFIX)) {
    const externalId = id.slice(EXTERNAL_ID_PREFIX.length);
    if (!customerExternalIdSchema.safeParse(externalId).success) throw notFound();
    const found = await catalog.customers.findByExternalId(workspaceId, externalId);
    const former = await formerCustomers(catalog, workspaceId, externalId);
    return { externalId, customerIds: [...new Set([...(found === undefined ? [] : [found.id]), ...former])] };
  }
  if (parseResourceId('customer', id) === undefined) throw notFound();
  const record = await catalog.customers.get(workspaceId, id);
  if (record === undefined && !(await catalog.erasures.everHadCustomer(workspaceId, id))) throw notFound();
  return { externalId: record?.externalId, customerIds: [id] };
}

/**
 * Removes a customer's record, and every copy and stored answer in Redis that contains it.
 *
 * @param queued references of events that were in the queue before the removal
 * @returns the id of the click that the customer is attributed to. While the customer is queued, only its record has that id
 */
async function removeCustomer(
  deps: StoredAnswerDeps,
  workspaceId: string,
  id: string,
  queued: QueuedReferences,
): Promise<string | undefined> {
  const { catalog } = deps;
  const record = await catalog.customers.get(workspaceId, id);
  const removeAnswers = await findStoredAnswers(deps, workspaceId, id, queued, 'remove');
  // Stored answers are removed before and after, as when a customer is deleted: a request in progress may have stored one.
  await removeAnswers(record?.externalId);
  let removed: CustomerRecord | undefined;
  if (record !== undefined) {
    const claims = await deps.claimsOf(workspaceId);
    const remove = () => catalog.customers.remove(workspaceId, id);
    removed = await claims.runAndRemove(customerClaim(workspaceId, record.externalId), remove).catch((err: unknown) => {
      if (!(err instanceof ApiError) || err.code !== 'not_found') throw err;
      return undefined;
    });
    await removeAnswers(record.externalId);
    // Another request may have changed the external id in the meantime.
    if (removed !== undefined && removed.externalId !== record.externalId) await removeAnswers(removed.externalId);
  }
  const workspace = parseResourceId('workspace', workspaceId) ?? '';
  const number = parseResourceId('customer', id) ?? '';
  const redis = await catalog.queueShards.pick(deps.queueShards, workspaceId);
  const externalIds = new Set([record?.externalId ?? '', removed?.externalId ?? '']);
  await removePendingCustomers(
    redis,
    [...externalIds].map((externalId) => ({ workspace, number, externalId })),
  );
  // A request in progress may have attributed the customer after it was read.
  return (removed ?? record)?.clickId ?? undefined;
}

/**
 * Ids of customers that got the external id after `subjectOf` has read it: of the one that is queued and, if the request has named the person by
 * the external id, of the one that is stored. That could be another person where the request has named a customer by its id.
 */
async function laterIds(
  deps: StoredAnswerDeps,
  workspaceId: string,
  externalId: string,
  isNamed: boolean,
): Promise<string[]> {
  const { catalog } = deps;
  const claims = await deps.claimsOf(workspaceId);
  await claims.blockFilters(workspaceId);
  // Removing the claim waits for the requests that hold it: they create a customer, or give one the external id.
  await claims.remove([customerClaim(workspaceId, externalId)]);
  const redis = await catalog.queueShards.pick(deps.queueShards, workspaceId);
  const number = await findPendingCustomer(redis, parseResourceId('workspace', workspaceId) ?? '', externalId);
  const stored = isNamed ? await catalog.customers.findByExternalId(workspaceId, externalId) : undefined;
  return [stored?.id, number === undefined ? undefined : catalog.customers.idOf(number)].filter(
    (id) => id !== undefined,
  );
}

/** Does what {@link eraseCustomer} says, without waiting for replicas at the end. */
async function acceptAndRemove(
  deps: StoredAnswerDeps,
  workspaceId: string,
  id: string,
  mode: ErasureMode,
): Promise<ErasureRecord> {
  const { catalog } = deps;
  const subject = await subjectOf(catalog, workspaceId, id);
  let erasure = await catalog.erasures.accept(workspaceId, subject, mode);
  const { externalId } = subject;
  const later =
    externalId === undefined ? [] : await laterIds(deps, workspaceId, externalId, id.startsWith(EXTERNAL_ID_PREFIX));
  const found = later.filter((customerId) => catalog.erasures.isBefore(customerId, erasure));
  if (found.length > 0) erasure = await catalog.erasures.addFound(erasure, { customerIds: found });
  const readQueue = () => referencesInQueue(deps, workspaceId, erasure.customerIds);
  const before = await readQueue();
  const firstClicks: string[] = [];
  for (const customerId of erasure.customerIds) {
    const clickId = await removeCustomer(deps, workspaceId, customerId, before);
    if (clickId !== undefined) firstClicks.push(clickId);
  }
  // Read again, for events of requests that were in progress.
  const after = await readQueue();
  const stored = await catalog.erasures.clicksOf(workspaceId, erasure.customerIds);
  erasure = await catalog.erasures.addFound(erasure, {
    clickIds: [...firstClicks, ...before.clickIds, ...after.clickIds, ...stored],
  });
  await catalog.exportJobs.withdraw(workspaceId, [erasure]);
  const people = await catalog.erasures.people.current();
  if (people !== undefined) {
    await eraseWaitingBodies(await catalog.queueShards.pick(deps.queueShards, workspaceId), people, workspaceId);
  }
  return erasure;
}

/**
 * Accepts the erasure of a person (docs/reference/erasure.md), and removes at once everything that is not in event tables: the record,
 * names, claims, the queued customer, cached copies, bodies of webhooks and files of exports. The writer erases the events
 * (services/writer/src/erasures.ts). A repeated call removes what is left, and returns the same erasure.
 *
 * @param id `cus_…`, or `ext_` and an external id, which need not exist
 * @throws ApiError not_found for a `cus_…` id that the workspace never had; 500 with `Retry-After` when replicas of Redis have not confirmed
 * the removals, which a failover could undo then
 */
export async function eraseCustomer(
  deps: ErasureDeps,
  workspaceId: string,
  id: string,
  mode: ErasureMode,
): Promise<ErasureRecord> {
  const replication = await deps.catalog.queueShards.pick(deps.replications, workspaceId);
  try {
    return await replication.confirmed(() => acceptAndRemove(deps, workspaceId, id, mode));
  } catch (err) {
    throw err instanceof NotReplicatedError ? unavailable('replicas of Redis', err) : err;
  }
}
