import { ApiError } from '@waymark/contract';
import { equals } from '../lists/list-conditions.js';
import { isRootLink } from '../model/entity-types.js';
import type { DomainRecord, LinkRecord } from '../model/record-schemas.js';
import type { Fields } from '../resources/resource.js';
import { changeAll, removeAll, type Selection } from '../store/bulk-changes.js';
import type { RecordStore } from '../store/record-store.js';
import { underLock, type WriteDeps } from '../store/write-context.js';
import type { DomainHosts } from './domain-hosts.js';
import type { NewDomain } from './domain-rules.js';

/** The operations on single domain records, without their links. */
interface DomainResource {
  create(workspaceId: string, input: NewDomain, countMax?: number | null): Promise<DomainRecord>;
  update(
    workspaceId: string,
    id: string,
    change: (record: DomainRecord) => Partial<Fields<DomainRecord>> | Promise<Partial<Fields<DomainRecord>>>,
  ): Promise<DomainRecord>;
  remove(workspaceId: string, id: string): Promise<DomainRecord>;
}

/** What domains and their links are stored in. */
export interface DomainStores {
  readonly domains: RecordStore<DomainRecord>;
  readonly links: RecordStore<LinkRecord>;
  readonly hosts: DomainHosts;
}

/** The hosts on which a domain has links. The old one first: an unfinished move moves links from it to the new one. */
const hostsOf = ({ movedFrom, slug }: DomainRecord) => [...(movedFrom === null ? [] : [movedFrom]), slug];

/** The links on a host. */
const linksOn = (host: string): Selection<LinkRecord> => ({
  conditions: [equals('domain', host)],
  has: ({ domain }) => domain === host,
});

/** Those of the links that were created up to a time, epoch milliseconds. */
const createdUntil = ({ conditions, has }: Selection<LinkRecord>, untilMs: number): Selection<LinkRecord> => ({
  conditions: [
    ...conditions,
    { sql: 'toUnixTimestamp64Milli(created_at) <= {until:UInt64}', values: { until: untilMs } },
  ],
  has: (link) => has(link) && Date.parse(link.createdAt) <= untilMs,
});

/** Those of the links that are not the root link of a domain. */
const withoutRoot = ({ conditions, has }: Selection<LinkRecord>): Selection<LinkRecord> => ({
  conditions: [...conditions, { sql: "key != '_root'", values: {} }],
  has: (link) => has(link) && !isRootLink(link),
});

/** Creates, moves and removes domains together with their links. */
export function createDomainChanges(stores: DomainStores, resource: DomainResource, deps: WriteDeps) {
  const { domains, links, hosts } = stores;

  /** What is needed of the domains of a workspace, oldest first: their files may have half a megabyte each. */
  const all = async (workspaceId: string): Promise<Pick<DomainRecord, 'id' | 'archived' | 'primary'>[]> => {
    const values = `id, archived, toUInt8(JSONExtractBool(data, 'primary'))`;
    const rows = await domains.table.selectValues<[string, number, number]>(workspaceId, values, 'ORDER BY id');
    return rows.map(([number, archived, primary]) => ({
      id: domains.table.publicId(number),
      archived: archived === 1,
      primary: primary === 1,
    }));
  };

  /**
   * Moves the links on the host `from` to the slug of the domain. The slug is read while each link is locked, because another request may
   * rename the domain again meanwhile. Two links may have one key in two encodings, from before this was a conflict: neither may stop the
   * move.
   */
  function moveLinks({ workspaceId, id }: DomainRecord, from: string): Promise<void> {
    const moved = async (link: LinkRecord) => {
      const slug = (await domains.table.get(workspaceId, id))?.record.slug ?? from;
      return slug === from ? link : { ...link, domain: slug };
    };
    return changeAll(links, workspaceId, linksOn(from), moved, { mayLackNames: true });
  }

  /**
   * Completes the move of a renamed domain: moves the remaining links from the old slug. Until then the old slug belongs to the domain as
   * well, and its links keep redirecting.
   */
  async function finishMove(domain: DomainRecord): Promise<DomainRecord> {
    const { workspaceId, id, slug, movedFrom } = domain;
    if (movedFrom === null) return domain;
    await moveLinks(domain, movedFrom);
    // Another request may have completed this move and begun the next one.
    const moved = await resource.update(workspaceId, id, (current) =>
      current.slug === slug && current.movedFrom === movedFrom ? { movedFrom: null } : {},
    );
    // Again, for links that were created on the old slug in the meantime.
    await moveLinks(domain, movedFrom);
    return moved;
  }

  /** Runs `work`, which makes a domain primary, while no other request does so in the workspace. */
  async function whileNoneBecomesPrimary<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    const lock = await deps.locks.take([`primary/${workspaceId}`]);
    return underLock(lock, work);
  }

  /**
   * Makes one domain primary and all others not. All domains of the workspace are locked meanwhile, so there is only ever one. Call it in
   * {@link whileNoneBecomesPrimary}: a domain that is created after the list is read is not among these, and must not become primary meanwhile.
   *
   * @returns false, and changes nothing, when the domain has been removed
   */
  async function setPrimary(workspaceId: string, id: string): Promise<boolean> {
    const ids = (await all(workspaceId)).map((domain) => domain.id);
    let isPresent = false;
    await domains.updateMany(workspaceId, [...ids, id], async (domain) => {
      // Read under its lock: it may have been removed since the list was read.
      isPresent = (await domains.table.get(workspaceId, id)) !== undefined;
      const primary = domain.id === id;
      if (!isPresent || domain.primary === primary) return domain;
      return { ...domain, primary, updatedAt: new Date(deps.now()).toISOString() };
    });
    return isPresent;
  }

  /** Makes the oldest domain primary if none is, an archived one only if all are. */
  async function ensurePrimary(workspaceId: string): Promise<void> {
    if ((await all(workspaceId)).some(({ primary }) => primary)) return;
    await whileNoneBecomesPrimary(workspaceId, async () => {
      for (;;) {
        const present = await all(workspaceId);
        const next = present.find(({ archived }) => !archived) ?? present[0];
        if (next === undefined || present.some(({ primary }) => primary)) return;
        if (await setPrimary(workspaceId, next.id)) return;
      }
    });
  }

  /**
   * Completes the removal of a domain that was interrupted after its record was removed. Links that are younger than the removal stay: the
   * slug may have become a domain again, which may be one that all workspaces share.
   *
   * @param slug that no domain has at present
   */
  async function finishRemoval(workspaceId: string, slug: string): Promise<void> {
    const { sql, values } = equals('slug', slug);
    const removedAtMs = await domains.table.removedAt(workspaceId, sql, values);
    if (removedAtMs === undefined) return;
    await removeAll(links, workspaceId, createdUntil(linksOn(slug), removedAtMs));
    await ensurePrimary(workspaceId);
  }

  return {
    checkHost: hosts.check,

    /**
     * Creates a domain and its root link, which has no destination. The workspace's first domain becomes primary.
     *
     * @throws ApiError forbidden (quota), conflict when the domain is in use, by any workspace
     */
    async create(workspaceId: string, input: NewDomain, countMax: number | null = null): Promise<DomainRecord> {
      const hasNone = async () => (await all(workspaceId)).length === 0;
      const createFirst = async () =>
        (await hasNone()) ? resource.create(workspaceId, { ...input, primary: true }, countMax) : undefined;
      const first = (await hasNone()) ? await whileNoneBecomesPrimary(workspaceId, createFirst) : undefined;
      if (first !== undefined) return first;
      const domain = await resource.create(workspaceId, input, countMax);
      await ensurePrimary(workspaceId);
      return (await domains.get(workspaceId, domain.id)) ?? domain;
    },

    /**
     * Updates a domain. A new slug moves all links to it. If killed meanwhile, both slugs work, and the next update moves the rest.
     *
     * @throws ApiError not_found, conflict when the new slug is in use
     */
    async update(workspaceId: string, id: string, patch: Partial<Fields<DomainRecord>>): Promise<DomainRecord> {
      const before = await domains.get(workspaceId, id);
      if (before !== undefined) await finishMove(before);
      const { slug } = patch;
      const change = () =>
        resource.update(workspaceId, id, async (domain) => {
          if (slug === undefined || slug === domain.slug) return patch;
          if (domain.movedFrom !== null) throw new ApiError('conflict', 'The links of this domain are being moved.');
          await hosts.check(workspaceId, slug);
          return { ...patch, movedFrom: domain.slug };
        });
      return finishMove(await (slug === undefined ? change() : hosts.whileLocked(workspaceId, slug, change)));
    },

    /** @throws ApiError not_found */
    async makePrimary(workspaceId: string, id: string): Promise<DomainRecord> {
      const isSet = await whileNoneBecomesPrimary(workspaceId, () => setPrimary(workspaceId, id));
      const domain = isSet ? await domains.get(workspaceId, id) : undefined;
      if (domain === undefined) throw new ApiError('not_found', 'Domain not found.');
      return domain;
    },

    /**
     * Removes the domain and its links. If the process is killed meanwhile, the domain remains and can be removed again, or its last links
     * remain, and {@link finishRemoval} or a repeated call removes them. If the domain was primary, the oldest remaining one that is not archived becomes
     * primary, or else the oldest.
     *
     * @throws ApiError not_found
     */
    async remove(workspaceId: string, id: string): Promise<DomainRecord> {
      const domain = await domains.get(workspaceId, id);
      if (domain === undefined) throw new ApiError('not_found', 'Domain not found.');
      // The root link is removed after the domain, so that no reader sees a domain without its root link.
      for (const host of hostsOf(domain)) await removeAll(links, workspaceId, withoutRoot(linksOn(host)));
      const removed = await resource.remove(workspaceId, id).catch(async (err: unknown) => {
        // This process has a copy of a domain whose removal another process has begun, and may not have completed.
        if (err instanceof ApiError && err.code === 'not_found') await finishRemoval(workspaceId, domain.slug);
        throw err;
      });
      // Another request may have renamed the domain since. Its last hosts come last, because links may still be moved from one to the other.
      const last = hostsOf(removed);
      const former = hostsOf(domain).filter((host) => !last.includes(host));
      for (const host of [...former, ...last]) await removeAll(links, workspaceId, linksOn(host));
      if (removed.primary) await ensurePrimary(workspaceId);
      return removed;
    },

    finishRemoval,
  };
}
