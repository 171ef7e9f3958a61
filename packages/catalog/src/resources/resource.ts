import { ApiError, createResourceId, parseResourceId, type SortOrder } from '@waymark/contract';
import type { SqlCondition } from '../lists/list-conditions.js';
import type { SortRule } from '../lists/record-list.js';
import type { CatalogRecord, Name } from '../model/entity-type.js';
import type { QuotaCounters } from '../redis/quotas.js';
import { type Creation, createRecords } from '../store/record-creation.js';
import type { RecordStore } from '../store/record-store.js';
import { NameTakenError, type WriteDeps } from '../store/write-context.js';

/** The fields of a record except those that every record has. */
export type Fields<R extends CatalogRecord> = Omit<R, keyof CatalogRecord>;
/** The fields of a new record. Those that are not required have defaults. */
export type New<R extends CatalogRecord, Required extends keyof Fields<R>> = Partial<Fields<R>> &
  Pick<Fields<R>, Required>;

/** The rules of one kind of resource, in addition to those of its table. */
export interface ResourceRules<R extends CatalogRecord, N, Filters, Sort extends string> {
  /** The name of the resource in error messages. */
  readonly title: string;
  /** Adds the defaults to the fields of a new record. */
  readonly complete: (input: N) => Fields<R>;
  /** The name by which {@link createResources} finds a record; absent for kinds without such a name. */
  readonly nameOf?: (workspaceId: string, name: string) => Name;
  /** The conditions for the filters of a list. */
  readonly conditions: (filters: Filters) => readonly SqlCondition[];
  /** The orders of a list. */
  readonly sorts: Readonly<Record<Sort, SortRule>>;
}

/** A page of a list, by its number from 1. */
export interface PageRequest<Filters, Sort extends string> {
  readonly filters: Filters;
  readonly sortBy: Sort;
  readonly sortOrder: SortOrder;
  readonly page: number;
  readonly pageSize: number;
}

/** Dependencies of {@link createResources}. */
export interface ResourceDeps extends WriteDeps {
  readonly quotas: QuotaCounters;
}

/** How records of other kinds depend on a record of this kind. */
export interface Relations<R extends CatalogRecord> {
  /** Removes the references that other records have to the record. */
  readonly detach?: (workspaceId: string, id: string) => Promise<void>;
  /** Records that are created together with a new record, and inserted before it. */
  readonly companions?: (record: R) => readonly Creation[];
}

/** The operations that all kinds of resources of a workspace have in common. */
export function createResources<R extends CatalogRecord, N, Filters, Sort extends string>(
  store: RecordStore<R>,
  rules: ResourceRules<R, N, Filters, Sort>,
  deps: ResourceDeps,
  { detach, companions }: Relations<R> = {},
) {
  const { title } = rules;
  const { now } = deps;

  const isId = (id: string) => parseResourceId(store.kind.resource, id) !== undefined;

  function notFound(): ApiError {
    return new ApiError('not_found', `${title.charAt(0).toUpperCase()}${title.slice(1)} not found.`);
  }

  /**
   * Converts a NameTakenError into a `conflict` that names the resource; returns other errors unchanged.
   *
   * @param created the new record: when a name of one of its companions is taken, the error names the record itself
   */
  function conflictOf(err: unknown, created?: R): unknown {
    if (!(err instanceof NameTakenError)) return err;
    const own = created === undefined ? [] : store.kind.names(created);
    const isOwn = own.some(({ kind }) => kind === err.taken.kind);
    const { name, original = name } = isOwn ? err.taken : (own[0] ?? err.taken);
    return new ApiError('conflict', `A ${title} "${original}" exists already.`, { cause: err });
  }

  /** @throws ApiError forbidden when the workspace has reached the limit */
  function withinQuota<T>(workspaceId: string, limit: number | null, create: () => Promise<T>): Promise<T> {
    const request = {
      workspaceId,
      what: store.kind.table,
      amount: 1,
      limit,
      used: () => store.lists.countFew(workspaceId),
      refusal: () => new ApiError('forbidden', `This workspace may have at most ${limit} of: ${title}.`),
    };
    return deps.quotas.within(request, create);
  }

  return {
    get: store.get,
    getMany: store.getMany,

    /** Like `get`. @throws ApiError not_found when there is no such record */
    async require(workspaceId: string, id: string): Promise<R> {
      const record = await store.get(workspaceId, id);
      if (record === undefined) throw notFound();
      return record;
    },

    /** Finds a record by its `nameOf`; undefined for kinds without such names. Upper and lower case differ only in URLs of webhooks. */
    async findByName(workspaceId: string, name: string): Promise<R | undefined> {
      return rules.nameOf && store.findByName(rules.nameOf(workspaceId, name));
    },

    /** A page of the records. */
    list(workspaceId: string, request: PageRequest<Filters, Sort>): Promise<R[]> {
      const { filters, sortBy, sortOrder, page, pageSize } = request;
      return store.lists.list(workspaceId, {
        conditions: rules.conditions(filters),
        sort: rules.sorts[sortBy],
        order: sortOrder,
        limit: pageSize,
        offset: (page - 1) * pageSize,
      });
    },

    /**
     * Creates a record with a new id.
     *
     * @param countMax maximum number of records of this kind in the workspace; null = unlimited
     * @param options.createdAt ISO 8601; by default now
     * @param options.companions further records to create with it; see {@link Relations}
     * @throws ApiError forbidden (quota), conflict when a unique name is taken
     */
    async create(
      workspaceId: string,
      input: N,
      countMax: number | null = null,
      options: Pick<Relations<R>, 'companions'> & { readonly createdAt?: string | undefined } = {},
    ): Promise<R> {
      const nowMs = now();
      const time = new Date(nowMs).toISOString();
      const id = createResourceId(store.kind.resource, nowMs);
      const { createdAt = time } = options;
      const record = { ...rules.complete(input), id, workspaceId, createdAt, updatedAt: time } as R;
      try {
        const further = options.companions?.(record) ?? [];
        const creations = [...(companions?.(record) ?? []), ...further, store.prepare(record)];
        await withinQuota(workspaceId, countMax, () => createRecords(deps, creations));
        return record;
      } catch (err) {
        throw conflictOf(err, record);
      }
    },

    /**
     * Changes fields under a lock, so that concurrent changes are not lost.
     *
     * @param change returns the fields to change in the given record, and none to leave it as it is; may throw to refuse the change
     * @throws ApiError not_found, conflict when a unique name is taken; the error of `change`
     */
    async update(
      workspaceId: string,
      id: string,
      change: (record: R) => Partial<Fields<R>> | Promise<Partial<Fields<R>>>,
    ): Promise<R> {
      if (!isId(id)) throw notFound();
      const changed = await store
        .update(workspaceId, id, async (record) => {
          const fields = await change(record);
          const isChanged = Object.keys(fields).length > 0;
          return isChanged ? { ...record, ...fields, updatedAt: new Date(now()).toISOString() } : record;
        })
        .catch((err: unknown) => {
          throw conflictOf(err);
        });
      if (changed === undefined) throw notFound();
      return changed;
    },

    /**
     * Removes the record and all references to it. If the process is killed meanwhile, the record remains, or a few references do. A repeated
     * call removes them, also if it throws because there is no record.
     *
     * @returns the removed record; @throws ApiError not_found
     */
    async remove(workspaceId: string, id: string): Promise<R> {
      if (isId(id)) await detach?.(workspaceId, id);
      const removed = isId(id) ? await store.remove(workspaceId, id) : undefined;
      if (removed === undefined) throw notFound();
      // Removes references that were added in the meantime.
      await detach?.(workspaceId, id);
      return removed;
    },
  };
}
