import {
  ApiError,
  chunksOf,
  createResourceId,
  PLAN_LIMITS,
  type Plan,
  type PlanLimits,
  type Role,
  type Scope,
} from '@waymark/contract';
import type { QueryParameters } from '../clickhouse/query-rows.js';
import type { DomainHosts } from '../domains/domain-hosts.js';
import { draftDomain } from '../domains/domains.js';
import { newLinkRecord } from '../links/new-link-record.js';
import { groupSlug, workspaceSlug } from '../model/entity-types.js';
import type { ParsedRows } from '../model/parse-record.js';
import type { ReadOptions } from '../model/read-options.js';
import type {
  ApiKeyRecord,
  DomainRecord,
  GroupRecord,
  LinkRecord,
  ProgramRecord,
  WorkspaceRecord,
} from '../model/record-schemas.js';
import { DEFAULT_GROUP, draftProgram } from '../partners/programs.js';
import { type Creation, createRecords } from '../store/record-creation.js';
import type { RecordStore } from '../store/record-store.js';
import { NameTakenError, type WriteDeps } from '../store/write-context.js';
import { draftKey, type IssuedKey } from './api-keys.js';
import { leastUsedShard } from './queue-shards.js';

/** The plan of a workspace that is made without naming one. */
export const DEFAULT_PLAN: Plan = 'enterprise';
/**
 * Quotas of a workspace that is made without naming a plan: beyond the events of a plan it could not read its events any more, which an
 * operator must have chosen.
 */
export const DEFAULT_QUOTAS: WorkspaceRecord['quotas'] = { eventsPerMonth: null };

/** The properties of a new workspace. */
export interface NewWorkspace {
  readonly name: string;
  readonly slug: string;
  readonly plan: Plan;
  /** Host name of its first domain in lower case; the domain becomes primary and gets a root link. */
  readonly domain?: string;
  /** Destination of partner links whose request names none. */
  readonly programUrl?: string;
  /** Quotas that differ from those of the plan; null = unlimited. */
  readonly quotas?: WorkspaceRecord['quotas'];
  /** Number of its queue shard; by default the one with the fewest workspaces. */
  readonly queueShard?: number;
}

/** A new workspace with its first keys, whose tokens cannot be read later. */
export interface CreatedWorkspace {
  readonly workspace: WorkspaceRecord;
  readonly domain: DomainRecord | undefined;
  readonly apiKey: IssuedKey;
  readonly publishableKey: IssuedKey;
}

/** Fields that an operator, or an import, may change. */
export type WorkspacePatch = Partial<
  Pick<
    WorkspaceRecord,
    | 'name'
    | 'slug'
    | 'plan'
    | 'allowedHostnames'
    | 'requestsPerMinute'
    | 'analyticsPerSecond'
    | 'quotas'
    | 'defaultProgramId'
    | 'eventRetentionDays'
    | 'addressRetentionDays'
    | 'privacySignal'
    | 'hasClickAliases'
  >
>;

/** The stores of the records that are created together with a workspace. */
export interface WorkspaceStores {
  readonly workspaces: RecordStore<WorkspaceRecord>;
  readonly apiKeys: RecordStore<ApiKeyRecord>;
  readonly domains: RecordStore<DomainRecord>;
  readonly links: RecordStore<LinkRecord>;
  readonly programs: RecordStore<ProgramRecord>;
  readonly groups: RecordStore<GroupRecord>;
}

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?$/;
const HOSTNAME = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const HOSTNAMES_MAX = 10;
/** Maximum number of workspaces in one statement, because their ids are sent in its URL. */
const WORKSPACES_PER_READ = 1_000;
const DEFAULT_KEY = { role: 'owner' as Role, scopes: [] as Scope[] };

function checkSlug(slug: string): void {
  if (SLUG.test(slug)) return;
  throw new ApiError('unprocessable_entity', 'A workspace slug has 1-48 lower-case letters, digits and inner hyphens.');
}

function checkHostnames(hostnames: readonly string[]): void {
  if (hostnames.length > HOSTNAMES_MAX) {
    throw new ApiError('unprocessable_entity', `A workspace allows at most ${HOSTNAMES_MAX} hostnames.`);
  }
  const wrong = hostnames.find((hostname) => !HOSTNAME.test(hostname));
  if (wrong !== undefined) throw new ApiError('unprocessable_entity', `"${wrong}" is not a hostname.`);
}

/** The limits that apply to a workspace: those of its plan, each of which its record may override. */
export function workspaceLimits(workspace: WorkspaceRecord): PlanLimits {
  const plan = PLAN_LIMITS[workspace.plan];
  return {
    requestsPerMinute: workspace.requestsPerMinute ?? plan.requestsPerMinute,
    analyticsPerSecond: workspace.analyticsPerSecond ?? plan.analyticsPerSecond,
    quotas: { ...plan.quotas, ...workspace.quotas },
  };
}

/** The operations on workspaces. @param queueShardCount 1 with one Redis */
export function createWorkspaces(
  stores: WorkspaceStores,
  deps: WriteDeps & { readonly domainHosts: DomainHosts },
  laggingRead: ReadOptions,
  queueShardCount: number,
) {
  const { workspaces } = stores;

  /** Reads every workspace, oldest first, in parts. Their ids are read from the table `names`. */
  async function readAll<T>(read: (condition: string, parameters: QueryParameters) => Promise<T>): Promise<T[]> {
    const numbers = await deps.namesTable.ids('workspace');
    const parts: T[] = [];
    for (const some of chunksOf(numbers, WORKSPACES_PER_READ)) {
      parts.push(await read('workspace_id IN ({ids:Array(UInt64)})', { ids: some.map(BigInt) }));
    }
    return parts;
  }

  /** Every workspace, oldest first. */
  const list = async (): Promise<WorkspaceRecord[]> => (await readAll(workspaces.table.selectEverywhere)).flat();

  /** The same, and those that cannot be read apart: one of them must not stop the work for all. */
  async function listReadable(): Promise<ParsedRows<WorkspaceRecord>> {
    const parts = await readAll(workspaces.table.selectReadable);
    return {
      records: parts.flatMap(({ records }) => records),
      unreadable: parts.flatMap(({ unreadable }) => unreadable),
    };
  }

  function domainCreations(domain: DomainRecord | undefined, nowMs: number): Creation[] {
    if (domain === undefined) return [];
    const { workspaceId, slug } = domain;
    const root = newLinkRecord(workspaceId, { domain: slug, key: '_root', url: '' }, nowMs);
    const step = deps.domainHosts.creationStep(workspaceId, slug);
    return [step, stores.links.prepare(root), stores.domains.prepare(domain)];
  }

  /** Creates the program of a workspace without one, or finds the program that a killed call has created. */
  async function createProgram({ id: workspaceId, name }: WorkspaceRecord): Promise<ProgramRecord> {
    const fresh = draftProgram(workspaceId, { name, domainId: null, url: null }, deps.now());
    const known = await stores.groups.findByName(groupSlug(workspaceId, DEFAULT_GROUP));
    const group = known ?? fresh.group;
    const id = group.programId ?? fresh.program.id;
    const program = await stores.programs.get(workspaceId, id);
    if (program !== undefined) return program;
    const created = { ...fresh.program, id, defaultGroupId: group.id };
    await createRecords(deps, [
      ...(known === undefined ? [stores.groups.prepare(group)] : []),
      stores.programs.prepare(created),
    ]);
    return created;
  }

  return {
    get: (id: string): Promise<WorkspaceRecord | undefined> => workspaces.get(id, id),

    /** The workspace if it is cached in this process; undefined otherwise. Sends no request, so that redirects need not wait. */
    fresh: (id: string): WorkspaceRecord | undefined => workspaces.fresh(id, id, laggingRead),

    /** Reads a workspace for a redirect: if the stores fail, returns an expired copy. */
    forVisit: (id: string): Promise<WorkspaceRecord | undefined> => workspaces.get(id, id, laggingRead),

    findBySlug: (slug: string): Promise<WorkspaceRecord | undefined> => workspaces.findByName(workspaceSlug(slug)),

    /**
     * Creates a workspace with its keys, its partner program and, if requested, its first domain. The row of the workspace itself is
     * written last, so that nothing is visible if the process is killed before.
     *
     * @throws ApiError conflict when the slug or the domain is taken, unprocessable_entity for an unknown queue shard
     */
    async create(input: NewWorkspace): Promise<CreatedWorkspace> {
      checkSlug(input.slug);
      const nowMs = deps.now();
      const id = createResourceId('workspace', nowMs);
      const apiKey = draftKey(id, { ...DEFAULT_KEY, kind: 'secret', name: 'Default key' }, nowMs);
      const publishableKey = draftKey(id, { ...DEFAULT_KEY, kind: 'publishable', name: 'Publishable key' }, nowMs);
      const domain =
        input.domain === undefined ? undefined : draftDomain(id, { slug: input.domain, primary: true }, nowMs);
      const { name, programUrl = null } = input;
      const { program, group } = draftProgram(id, { name, domainId: domain?.id ?? null, url: programUrl }, nowMs);
      const queueShard =
        input.queueShard ??
        (queueShardCount === 1 ? 0 : leastUsedShard((await listReadable()).records, queueShardCount));
      if (queueShard >= queueShardCount) {
        throw new ApiError('unprocessable_entity', `There is no queue shard ${queueShard}; see QUEUE_SHARDS.`);
      }
      const time = new Date(nowMs).toISOString();
      const workspace: WorkspaceRecord = {
        id,
        workspaceId: id,
        createdAt: time,
        updatedAt: time,
        name,
        slug: input.slug,
        plan: input.plan,
        allowedHostnames: [],
        requestsPerMinute: null,
        analyticsPerSecond: null,
        quotas: input.quotas ?? {},
        defaultProgramId: program.id,
        publishableKeyHash: publishableKey.record.keyHash,
        ...(queueShard > 0 && { queueShard }),
      };
      try {
        await createRecords(deps, [
          stores.apiKeys.prepare(apiKey.record),
          stores.apiKeys.prepare(publishableKey.record),
          ...domainCreations(domain, nowMs),
          stores.groups.prepare(group),
          stores.programs.prepare(program),
          workspaces.prepare(workspace),
        ]);
      } catch (err) {
        if (!(err instanceof NameTakenError)) throw err;
        const what = err.taken.kind === 'workspace' ? `slug "${input.slug}"` : `domain "${input.domain}"`;
        throw new ApiError('conflict', `The ${what} is already in use.`, { cause: err });
      }
      return { workspace, domain, apiKey, publishableKey };
    },

    /**
     * Changes a workspace.
     *
     * @param change the fields to set, or a function that derives them from the stored workspace, which no other change can alter meanwhile
     * @throws ApiError not_found, conflict (slug), unprocessable_entity, and what `change` throws
     */
    async update(
      id: string,
      change: WorkspacePatch | ((stored: WorkspaceRecord) => WorkspacePatch),
    ): Promise<WorkspaceRecord> {
      const updated = await workspaces.update(id, id, (record) => {
        const patch = typeof change === 'function' ? change(record) : change;
        if (patch.slug !== undefined) checkSlug(patch.slug);
        if (patch.allowedHostnames !== undefined) checkHostnames(patch.allowedHostnames);
        return { ...record, ...patch, updatedAt: new Date(deps.now()).toISOString() };
      });
      if (updated === undefined) throw new ApiError('not_found', 'Workspace not found.');
      return updated;
    },

    /** The workspace with a partner program, which is created if it is older than programs and has none. @throws ApiError not_found */
    async withProgram(id: string): Promise<WorkspaceRecord> {
      const updated = await workspaces.update(id, id, async (record) => {
        if (record.defaultProgramId !== null) return record;
        return { ...record, defaultProgramId: (await createProgram(record)).id };
      });
      if (updated === undefined) throw new ApiError('not_found', 'Workspace not found.');
      return updated;
    },

    /** Every workspace, oldest first, for the operator. */
    list,
    listReadable,
  };
}
