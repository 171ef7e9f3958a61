import { pollUntil } from '@waymark/cache';
import type { Catalog } from '@waymark/catalog';
import { deletedCustomer, parseResourceId } from '@waymark/contract';
import {
  type ClaimAdmin,
  customerClaim,
  type InvoiceAnswer,
  invoiceClaim,
  leadClaim,
  type QueuedReferences,
  queuedReferences,
} from '@waymark/event-queue';
import type { Redis } from 'ioredis';

/** How long to wait for the writer to store the events that created a customer. */
const STORED_WITHIN = { withinMs: 2000, everyMs: 50 };

/** Dependencies of {@link findStoredAnswers} and {@link referencesInQueue}. */
export interface StoredAnswerDeps {
  readonly catalog: Catalog;
  /** The claims of a workspace that `/track` takes; they hold copies of customers and stored answers. */
  readonly claimsOf: (workspaceId: string) => Promise<ClaimAdmin>;
  /** The Redis of each queue shard, by number. */
  readonly queueShards: readonly Redis[];
}

/** The invoices, event names and clicks that queued events of these customers refer to. @param ids `cus_…` */
export async function referencesInQueue(
  { catalog, queueShards }: Pick<StoredAnswerDeps, 'catalog' | 'queueShards'>,
  workspaceId: string,
  ids: readonly string[],
): Promise<QueuedReferences> {
  const redis = await catalog.queueShards.pick(queueShards, workspaceId);
  const numbers = ids.map((id) => parseResourceId('customer', id) ?? '');
  return queuedReferences(redis, parseResourceId('workspace', workspaceId) ?? '', numbers);
}

/** Removes a customer from its claims and stored answers. @param externalId of the customer's claim; undefined if it is unknown */
type RemoveStoredAnswers = (externalId: string | undefined) => Promise<void>;

/** A stored answer to a sale, with its customer shown as deleted. Unchanged if the sale belongs to another customer. */
function withoutCustomer(id: string, text: string): string {
  const answer = JSON.parse(text) as InvoiceAnswer;
  if (answer.customer?.id !== id) return text;
  const { name, email, avatar, externalId } = deletedCustomer(id);
  return JSON.stringify({ ...answer, customer: { id, name, email, avatar, externalId } });
}

/**
 * Finds the stored answers that contain a customer. Their keys are derived from its events in the tables and in the queue.
 *
 * @param id `cus_…` of a customer, which may be removed already
 * @param queued references of its queued events; read before this call, so that an event that leaves the queue meanwhile is in the tables
 * @param sales `keep`: answers to its sales stay, without the customer, because a sale in the queue can only be found by its claim
 * @returns a function that removes what was found; it may be called several times
 */
export async function findStoredAnswers(
  { catalog, claimsOf }: StoredAnswerDeps,
  workspaceId: string,
  id: string,
  queued: QueuedReferences,
  sales: 'keep' | 'remove',
): Promise<RemoveStoredAnswers> {
  const isStored = async () => !(await catalog.customers.isPending(workspaceId, id));
  if (!(await isStored())) await pollUntil(isStored, STORED_WITHIN);
  const stored = await catalog.customers.idempotencyKeys(workspaceId, id);
  const invoices = [...new Set([...stored.invoiceIds, ...queued.invoiceIds])].map((one) =>
    invoiceClaim(workspaceId, one),
  );
  const leads = [...new Set([...stored.eventNames, ...queued.eventNames])].map((name) =>
    leadClaim(workspaceId, id, name),
  );
  const claims = await claimsOf(workspaceId);
  return async (externalId) => {
    const ofExternalId = externalId === undefined ? [] : [customerClaim(workspaceId, externalId)];
    await claims.blockFilters(workspaceId);
    await claims.remove([...ofExternalId, ...leads, ...(sales === 'remove' ? invoices : [])]);
    if (sales === 'keep') await claims.change(invoices, (answer) => withoutCustomer(id, answer));
  };
}
