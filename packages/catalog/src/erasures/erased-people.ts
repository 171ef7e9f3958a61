import { answerWithin } from '@waymark/cache';
import { type ErasureMode, formatResourceId, resourceIdTime } from '@waymark/contract';
import { ERASURES_TABLE } from '../model/entity-types.js';
import type { ErasureRecord } from '../model/job-record-schemas.js';
import type { CatalogSubscriber } from '../redis/catalog-changes.js';
import type { SubjectHash } from './subject-hash.js';

/** The people of the erasures that are not complete or are less than 31 days old. Numbers are the UInt64 of ids as decimal text. */
export interface ErasedPeople {
  /** The mode in which a customer was erased; undefined = not erased. */
  modeOfCustomer(workspaceNumber: string, customerNumber: string): ErasureMode | undefined;
  /** Like `modeOfCustomer`, with the public ids of workspace and customer. */
  modeOfId(workspaceId: string, customerId: string): ErasureMode | undefined;
  /** Whether all erasures of a customer have run, so that the stored rows contain nothing that must be hidden. */
  isComplete(workspaceId: string, customerId: string): boolean;
  /** The mode in which a click was erased, together with its customer; undefined = not erased. */
  modeOfClick(workspaceNumber: string, clickId: string): ErasureMode | undefined;
  /** Like `modeOfClick`, with the public id of the workspace. */
  modeOfClickId(workspaceId: string, clickId: string): ErasureMode | undefined;
  /**
   * The erasure to which a customer in the queue belongs: the customer has the erased external id, and was created before the erasure was
   * accepted. A customer that was created later is a new person.
   */
  erasureOf(workspaceNumber: string, customerNumber: string, externalId: string): ErasureRecord | undefined;
  /** The erasures of a customer whose records do not contain the click yet. */
  erasuresWithout(workspaceNumber: string, customerNumber: string, clickId: string): readonly ErasureRecord[];
}

/** Reads {@link ErasedPeople}. Every process keeps a copy in memory, and reads it again when an erasure is added or changed. */
export interface ErasedPeopleReader {
  /** The current people; undefined when there are none. @throws when the erasures cannot be read */
  current(): Promise<ErasedPeople | undefined>;
  /**
   * Like `current`, for requests that must be answered without ClickHouse as well: reads only after a change was received, and after a
   * second without an answer returns the last copy.
   */
  soon(): Promise<ErasedPeople | undefined>;
  /**
   * The last copy, which may be outdated or undefined, for requests that must not wait for ClickHouse. If it is outdated, it is read again
   * in the background.
   */
  peek(): ErasedPeople | undefined;
}

/** Days after an erasure in which rows of its people may still arrive: the writer refuses events whose id is older than thirty days. */
export const LATE_DAYS_MAX = 31;
/** After this time a copy is read again even if no change was received, in case a message was lost. */
const COPY_MS_MAX = 60_000;
/** How long {@link ErasedPeopleReader.soon} waits for ClickHouse. */
const SOON_MS_MAX = 1_000;

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

/** Dependencies of {@link createErasedPeople}. */
export interface ErasedPeopleDeps {
  /** Reads the erasures to which late rows may belong. */
  readonly read: () => Promise<readonly ErasureRecord[]>;
  readonly subjects: SubjectHash;
  /** Whether this process receives the changes of others. */
  readonly isSubscribed: () => boolean;
  readonly now: () => number;
}

/** Creates the reader of this process. It is also a subscriber of the change feed. */
export function createErasedPeople(deps: ErasedPeopleDeps): ErasedPeopleReader & CatalogSubscriber {
  const { read, subjects, isSubscribed, now } = deps;
  /** Number of changes that were received; a copy with fewer is outdated. */
  let changes = 0;
  let copy: { readonly people: ErasedPeople | undefined; readonly changes: number; readonly at: number } | undefined;
  let loading: Promise<void> | undefined;

  const isUnchanged = () => copy !== undefined && copy.changes === changes && isSubscribed();
  const isCurrent = () => copy !== undefined && isUnchanged() && now() - copy.at < COPY_MS_MAX;

  async function load(): Promise<void> {
    const before = changes;
    const at = now();
    const erasures = await read();
    copy = { people: erasures.length === 0 ? undefined : peopleOf(erasures, subjects), changes: before, at };
  }

  async function current(): Promise<ErasedPeople | undefined> {
    if (isCurrent()) return copy?.people;
    const before = changes;
    // Repeated while the load began before a change that was received before this call.
    do {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      await loading;
    } while (copy !== undefined && copy.changes < before);
    return copy?.people;
  }

  function peek(): ErasedPeople | undefined {
    // A failure leaves the copy as it is, and the next request tries again.
    if (!isCurrent() && loading === undefined) current().catch(() => undefined);
    return copy?.people;
  }

  return {
    current,
    peek,
    async soon() {
      return isUnchanged() ? peek() : answerWithin(current(), SOON_MS_MAX).catch(peek);
    },
    onChange({ records }) {
      if (records.some(({ table }) => table === ERASURES_TABLE)) changes += 1;
    },
    onGap() {
      changes += 1;
    },
  };
}
