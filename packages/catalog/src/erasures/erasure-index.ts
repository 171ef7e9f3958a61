import { type ErasureMode, formatResourceId, resourceIdTime } from '@waymark/contract';
import type { Stored } from '../model/entity-type.js';
import type { ErasureRecord } from '../model/job-record-schemas.js';
import type { SubjectHash } from './subject-hash.js';

/** What {@link ErasedPeople} keep of an erasure. */
export type KnownErasure = Pick<
  ErasureRecord,
  'id' | 'workspaceId' | 'mode' | 'status' | 'createdAt' | 'subjectHash' | 'customerIds' | 'clickIds'
>;

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
  erasureOf(workspaceNumber: string, customerNumber: string, externalId: string): KnownErasure | undefined;
  /** The erasures of a customer whose records do not contain the click yet. */
  erasuresWithout(workspaceNumber: string, customerNumber: string, clickId: string): readonly KnownErasure[];
}

/** {@link ErasedPeople} of erasures that are added, replaced and removed one by one. A key identifies an erasure. */
export interface ErasureIndex {
  /** Always those of the erasures that the index has now. */
  readonly people: ErasedPeople;
  readonly size: () => number;
  readonly keys: () => Iterable<string>;
  readonly versionOf: (key: string) => number | undefined;
  /** Adds an erasure, or replaces an earlier version of it. */
  readonly put: (key: string, stored: Stored<ErasureRecord>) => void;
  readonly remove: (key: string) => void;
}

/** The erasures of one workspace by an id or hash that they have. A set only where there are several: most have one. */
type ErasuresBy = Map<string, KnownErasure | Set<KnownErasure>>;

interface OfWorkspace {
  readonly customers: ErasuresBy;
  readonly clicks: ErasuresBy;
  readonly hashes: ErasuresBy;
}

interface Entry {
  readonly version: number;
  readonly erasure: KnownErasure;
}

function allOf(erasures: KnownErasure | Set<KnownErasure> | undefined): Iterable<KnownErasure> {
  if (erasures === undefined) return [];
  return erasures instanceof Set ? erasures : [erasures];
}

function addTo(map: ErasuresBy, id: string, erasure: KnownErasure): void {
  const others = map.get(id);
  if (others === undefined) map.set(id, erasure);
  else if (others instanceof Set) others.add(erasure);
  else if (others !== erasure) map.set(id, new Set([others, erasure]));
}

function removeFrom(map: ErasuresBy, id: string, erasure: KnownErasure): void {
  const all = map.get(id);
  if (all instanceof Set) {
    all.delete(erasure);
    if (all.size === 0) map.delete(id);
  } else if (all === erasure) map.delete(id);
}

/** The ids and the hash of an erasure, each with the map of its workspace that has it. */
function* placesOf({ customers, clicks, hashes }: OfWorkspace, { customerIds, clickIds, subjectHash }: KnownErasure) {
  for (const id of customerIds) yield [customers, id] as const;
  for (const id of clickIds) yield [clicks, id] as const;
  if (subjectHash !== null) yield [hashes, subjectHash] as const;
}

function modeOf(erasures: KnownErasure | Set<KnownErasure> | undefined): ErasureMode | undefined {
  if (erasures === undefined) return undefined;
  for (const { mode } of allOf(erasures)) if (mode === 'delete') return mode;
  return 'anonymise';
}

/** The oldest of the erasures; ids begin with the time. */
function oldest(erasures: readonly KnownErasure[]): KnownErasure | undefined {
  const [first, ...others] = erasures;
  return others.reduce((one, other) => (one !== undefined && one.id < other.id ? one : other), first);
}

/** The fields that are kept. The other ones would stay in memory with the record. */
function known(record: ErasureRecord): KnownErasure {
  const { id, workspaceId, mode, status, createdAt, subjectHash, customerIds, clickIds } = record;
  return { id, workspaceId, mode, status, createdAt, subjectHash, customerIds, clickIds };
}

/** Creates an empty index. */
export function createErasureIndex(subjects: SubjectHash): ErasureIndex {
  const entries = new Map<string, Entry>();
  const workspaces = new Map<string, OfWorkspace>();

  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    const { erasure } = entry;
    const own = workspaces.get(erasure.workspaceId);
    if (own === undefined) return;
    for (const [map, id] of placesOf(own, erasure)) removeFrom(map, id, erasure);
    if (own.customers.size + own.clicks.size + own.hashes.size === 0) workspaces.delete(erasure.workspaceId);
  }

  function put(key: string, { version, record }: Stored<ErasureRecord>): void {
    const before = entries.get(key);
    if (before !== undefined && before.version >= version) return;
    remove(key);
    const erasure = known(record);
    const own = workspaces.get(erasure.workspaceId) ?? { customers: new Map(), clicks: new Map(), hashes: new Map() };
    workspaces.set(erasure.workspaceId, own);
    entries.set(key, { version, erasure });
    for (const [map, id] of placesOf(own, erasure)) addTo(map, id, erasure);
  }

  const modeOfId = (workspaceId: string, id: string) => modeOf(workspaces.get(workspaceId)?.customers.get(id));
  const modeOfClickId = (workspaceId: string, clickId: string) =>
    modeOf(workspaces.get(workspaceId)?.clicks.get(clickId));
  const ofNumber = (workspace: string) =>
    workspaces.size === 0 ? undefined : workspaces.get(formatResourceId('workspace', workspace));
  const ofCustomer = (own: OfWorkspace | undefined, customer: string) =>
    own?.customers.get(formatResourceId('customer', customer));

  return {
    size: () => entries.size,
    keys: () => entries.keys(),
    versionOf: (key) => entries.get(key)?.version,
    put,
    remove,
    people: {
      modeOfId,
      modeOfClickId,
      modeOfCustomer: (workspace, customer) => modeOf(ofCustomer(ofNumber(workspace), customer)),
      modeOfClick: (workspace, clickId) => modeOf(ofNumber(workspace)?.clicks.get(clickId)),
      erasureOf(workspace, customer, externalId) {
        const own = ofNumber(workspace);
        if (own === undefined || own.hashes.size === 0) return undefined;
        const madeMs = resourceIdTime('customer', formatResourceId('customer', customer)) ?? 0;
        const hashes = subjects.all(formatResourceId('workspace', workspace), externalId);
        const accepted = hashes.flatMap((hash) => [...allOf(own.hashes.get(hash))]);
        return oldest(accepted.filter(({ createdAt }) => madeMs <= Date.parse(createdAt)));
      },
      isComplete(workspaceId, id) {
        for (const { status } of allOf(workspaces.get(workspaceId)?.customers.get(id))) {
          if (status !== 'erased') return false;
        }
        return true;
      },
      erasuresWithout(workspace, customer, clickId) {
        const own = ofNumber(workspace);
        const withClick = own?.clicks.get(clickId);
        const hasClick = (erasure: KnownErasure) =>
          withClick instanceof Set ? withClick.has(erasure) : withClick === erasure;
        return [...allOf(ofCustomer(own, customer))].filter((erasure) => !hasClick(erasure));
      },
    },
  };
}
