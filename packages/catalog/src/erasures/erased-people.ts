import { type ErasureMode, formatResourceId, resourceIdTime } from '@waymark/contract';
import { ERASURES_TABLE } from '../model/entity-types.js';
import type { ErasureRecord } from '../model/job-record-schemas.js';
import type { CatalogSubscriber } from '../redis/catalog-changes.js';
import type { SubjectHash } from './subject-hash.js';

/** Who was erased lately. Numbers are the UInt64 of ids, as decimal text. */
export interface ErasedPeople {
  /** How the person behind a customer was erased; undefined = not at all. */
  modeOfCustomer(workspaceNumber: string, customerNumber: string): ErasureMode | undefined;
  /** The same by the ids of workspace and customer. */
  modeOfId(workspaceId: string, customerId: string): ErasureMode | undefined;
  /** Whether the rows of an erased customer are stored as the erasure leaves them: none of the customer's erasures has to run any more. */
  isComplete(workspaceId: string, customerId: string): boolean;
  /** How the person behind a click was erased. */
  modeOfClick(workspaceNumber: string, clickId: string): ErasureMode | undefined;
  /** The same by the id of the workspace. */
  modeOfClickId(workspaceId: string, clickId: string): ErasureMode | undefined;
  /**
   * The erasure that a queued customer belongs to: it has the erased external id, and its id is from before the erasure was accepted. A
   * customer with a later id is a new person.
   */
  erasureOf(workspaceNumber: string, customerNumber: string, externalId: string): ErasureRecord | undefined;
  /** The erasures of a customer that do not have the click yet. */
  erasuresWithout(workspaceNumber: string, customerNumber: string, clickId: string): readonly ErasureRecord[];
}

/** Reads {@link ErasedPeople}, which every process keeps in memory until an erasure is added or changed. */
export interface ErasedPeopleReader {
  /** @returns undefined when nobody was erased lately. @throws when the erasures cannot be read */
  current(): Promise<ErasedPeople | undefined>;
  /** What was read last, which may not be current, for requests that must not wait for ClickHouse. Reads again if it is not. */
  peek(): ErasedPeople | undefined;
}

/** Late rows: the writer refuses events whose id is older than thirty days. */
export const LATE_DAYS_MAX = 31;
/** How old the copy in a process may be without a message that it is not current. */
const COPY_MS_MAX = 60_000;

function peopleOf(erasures: readonly ErasureRecord[], subjects: SubjectHash): ErasedPeople {
  const customers = new Map<string, ErasureMode>();
  const clicks = new Map<string, ErasureMode>();
  const byHash = new Map<string, ErasureRecord[]>();
  const byCustomer = new Map<string, ErasureRecord[]>();
  const keyOf = (workspaceId: string, id: string) => `${workspaceId}/${id}`;
  const add = (modes: Map<string, ErasureMode>, key: string, mode: ErasureMode) => {
    if (modes.get(key) !== 'delete') modes.set(key, mode);
  };
  for (const erasure of erasures) {
    const { workspaceId, mode, subjectHash } = erasure;
    for (const key of erasure.customerIds.map((id) => keyOf(workspaceId, id))) {
      add(customers, key, mode);
      byCustomer.set(key, [...(byCustomer.get(key) ?? []), erasure]);
    }
    for (const id of erasure.clickIds) add(clicks, keyOf(workspaceId, id), mode);
    if (subjectHash !== null) byHash.set(subjectHash, [...(byHash.get(subjectHash) ?? []), erasure]);
  }
  const modeOfId = (workspaceId: string, id: string) => customers.get(keyOf(workspaceId, id));
  const modeOfClickId = (workspaceId: string, clickId: string) => clicks.get(keyOf(workspaceId, clickId));
  return {
    modeOfId,
    modeOfClickId,
    modeOfCustomer: (workspace, customer) =>
      modeOfId(formatResourceId('workspace', workspace), formatResourceId('customer', customer)),
    modeOfClick: (workspace, clickId) =>
      clicks.size === 0 ? undefined : modeOfClickId(formatResourceId('workspace', workspace), clickId),
    erasureOf(workspace, customer, externalId) {
      const workspaceId = formatResourceId('workspace', workspace);
      const madeMs = resourceIdTime('customer', formatResourceId('customer', customer)) ?? 0;
      return subjects
        .all(workspaceId, externalId)
        .flatMap((hash) => byHash.get(hash) ?? [])
        .find(({ createdAt }) => madeMs <= Date.parse(createdAt));
    },
    isComplete: (workspaceId, id) =>
      (byCustomer.get(keyOf(workspaceId, id)) ?? []).every(({ status }) => status === 'erased'),
    erasuresWithout(workspace, customer, clickId) {
      const key = keyOf(formatResourceId('workspace', workspace), formatResourceId('customer', customer));
      return (byCustomer.get(key) ?? []).filter(({ clickIds }) => !clickIds.includes(clickId));
    },
  };
}

export interface ErasedPeopleDeps {
  /** The erasures that late rows may belong to. */
  readonly read: () => Promise<readonly ErasureRecord[]>;
  readonly subjects: SubjectHash;
  /** Whether this process receives the changes of others. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/** The reader of this process, and what the change feed has to call. */
export function createErasedPeople(deps: ErasedPeopleDeps): ErasedPeopleReader & CatalogSubscriber {
  const { read, subjects, isSubscribed, now } = deps;
  let changes = 0;
  let copy: { readonly people: ErasedPeople | undefined; readonly changes: number; readonly at: number } | undefined;
  let loading: Promise<void> | undefined;

  const isCurrent = () =>
    copy !== undefined && copy.changes === changes && isSubscribed() && now() - copy.at < COPY_MS_MAX;

  async function load(): Promise<void> {
    const before = changes;
    const at = now();
    const erasures = await read();
    copy = { people: erasures.length === 0 ? undefined : peopleOf(erasures, subjects), changes: before, at };
  }

  async function current(): Promise<ErasedPeople | undefined> {
    if (isCurrent()) return copy?.people;
    const before = changes;
    // A load that began before the last change is not enough.
    do {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      await loading;
    } while (copy !== undefined && copy.changes < before);
    return copy?.people;
  }

  return {
    current,
    peek() {
      // A failure leaves the copy as it is, and the next request tries again.
      if (!isCurrent() && loading === undefined) current().catch(() => undefined);
      return copy?.people;
    },
    onChange({ records }) {
      if (records.some(({ table }) => table === ERASURES_TABLE)) changes += 1;
    },
    onGap() {
      changes += 1;
    },
  };
}
