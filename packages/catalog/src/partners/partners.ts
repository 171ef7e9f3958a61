import type { ClickHouseClient } from '@waymark/clickhouse';
import type { ReadList } from '../clickhouse/list-reads.js';
import { queryRows } from '../clickhouse/query-rows.js';
import { IN_NO_HIDDEN_FOLDER, type LinkVisibility } from '../links/caller-visibility.js';
import { equals, hasId, isOneOf } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import { partnerEmail, partnerTenantId } from '../model/entity-types.js';
import type { LinkRecord, PartnerRecord } from '../model/record-schemas.js';
import { createResources, type ResourceDeps } from '../resources/resource.js';
import { changeAll, type Selection } from '../store/bulk-changes.js';
import type { RecordStore, TableSettings } from '../store/record-store.js';
import { PARTNER_RULES } from './partner-rules.js';
import { type PartnerTotals, readPartnerTotals, VISIBLE_PARTNER_SORTS } from './partner-totals.js';

/** Dependencies of {@link createPartners}. */
export interface PartnersDeps extends ResourceDeps {
  readonly clickhouse: ClickHouseClient;
  readonly readList: ReadList;
  readonly settings: TableSettings;
}

/** The operations on partners and their links. */
export function createPartners(
  stores: { readonly partners: RecordStore<PartnerRecord>; readonly links: RecordStore<LinkRecord> },
  deps: PartnersDeps,
) {
  const { partners, links } = stores;
  const linksOf = (id: string): Selection<LinkRecord> => ({
    conditions: [hasId('partner_id', 'partner', [id])],
    has: ({ partnerId }) => partnerId === id,
  });
  /** The links of a partner with another tenantId than that. */
  const otherTenantLinksOf = (id: string, known: string): Selection<LinkRecord> => {
    const { conditions, has } = linksOf(id);
    return {
      conditions: [...conditions, isOneOf('tenant_id', [known], true)],
      has: (link) => has(link) && link.tenantId !== known,
    };
  };
  const visibleLinksOf = (id: string, hidesFolders: boolean) => {
    const { conditions } = linksOf(id);
    return hidesFolders ? [...conditions, IN_NO_HIDDEN_FOLDER] : conditions;
  };

  const resources = createResources(partners, PARTNER_RULES, deps);
  /** Sorts partners by the totals of the links outside hidden folders. */
  const sortedByVisible = createResources(partners, { ...PARTNER_RULES, sorts: VISIBLE_PARTNER_SORTS }, deps);

  return {
    ...resources,

    /** A page of partners. @param hidesFolders whether links in hidden folders are not counted when the order is by a total */
    list: (workspaceId: string, request: Parameters<typeof resources.list>[1], hidesFolders: boolean) =>
      (hidesFolders ? sortedByVisible : resources).list(workspaceId, request),

    /** Finds a partner by email. Reads no cache, because enrolment must use the current state. */
    async findByEmail(workspaceId: string, email: string): Promise<PartnerRecord | undefined> {
      return (await partners.findOwnerUncached(partnerEmail(workspaceId, email)))?.record;
    },

    /** Finds a partner by tenantId. Reads no cache. */
    async findByTenantId(workspaceId: string, tenantId: string): Promise<PartnerRecord | undefined> {
      return (await partners.findOwnerUncached(partnerTenantId(workspaceId, tenantId)))?.record;
    },

    /** The totals of the links of each partner, read when it is the turn of the workspace's lists; partners without events are absent. */
    listTotals: (
      workspaceId: string,
      ids: readonly string[],
      hidesFolders: boolean,
    ): Promise<Map<string, PartnerTotals>> =>
      readPartnerTotals(deps.readList, deps.settings.read, workspaceId, ids, hidesFolders),

    /** The totals of all links of each partner, read without waiting for lists. */
    totals: (workspaceId: string, ids: readonly string[]): Promise<Map<string, PartnerTotals>> =>
      readPartnerTotals((query) => queryRows(deps.clickhouse, query), deps.settings.read, workspaceId, ids, false),

    /** The oldest links of a partner, oldest first. */
    links: (workspaceId: string, id: string, limit: number, hidesFolders = false): Promise<LinkRecord[]> =>
      links.lists.list(workspaceId, {
        conditions: visibleLinksOf(id, hidesFolders),
        sort: BY_CREATION,
        order: 'asc',
        limit,
        offset: 0,
      }),

    /** The oldest links of several partners, at most `limitEach` of each partner. */
    async linksOfMany(
      workspaceId: string,
      ids: readonly string[],
      limitEach: number,
      hidesFolders: boolean,
    ): Promise<Map<string, LinkRecord[]>> {
      const ofPartners = hasId('partner_id', 'partner', ids);
      const conditions = hidesFolders ? [ofPartners, IN_NO_HIDDEN_FOLDER] : [ofPartners];
      const found = await links.lists.oldestOfEach(workspaceId, conditions, 'partner_id', limitEach);
      const byPartner = new Map<string, LinkRecord[]>(ids.map((id) => [id, []]));
      for (const record of found) byPartner.get(record.partnerId ?? '')?.push(record);
      return byPartner;
    },

    /** The partner's oldest link with exactly this destination that the caller may see. */
    async linkByUrl(
      workspaceId: string,
      id: string,
      url: string,
      { hidesFolders }: LinkVisibility,
    ): Promise<LinkRecord | undefined> {
      const conditions = [...visibleLinksOf(id, hidesFolders), equals('url', url)];
      const request = { conditions, sort: BY_CREATION, order: 'asc', limit: 1, offset: 0 } as const;
      return (await links.lists.list(workspaceId, request))[0];
    },

    /** Whether any partner of the workspace has a link on that domain. */
    async hasLinksOn(workspaceId: string, domain: string): Promise<boolean> {
      const isPartners = { sql: 'partner_id != 0', values: {} };
      return (await links.lists.count(workspaceId, [equals('domain', domain), isPartners])) > 0;
    },

    /**
     * Copies the tenantId of a partner to its links. It is read while each link is locked, as the status is in `applyBanToLinks`, and
     * again at the end: links that have `known` are left out, and a change since then may have left out those that are changed here.
     *
     * @param known the tenantId that the caller has read
     */
    async copyTenantToLinks(workspaceId: string, id: string, known: string): Promise<void> {
      const current = async () => (await partners.table.get(workspaceId, id))?.record.tenantId ?? undefined;
      let copied: string | undefined;
      for (let next: string | undefined = known; next !== undefined && next !== copied; next = await current()) {
        copied = next;
        await changeAll(links, workspaceId, otherTenantLinksOf(id, next), async (link) => {
          const tenantId = (await current()) ?? link.tenantId;
          return link.tenantId === tenantId ? link : { ...link, tenantId };
        });
      }
    },

    /**
     * Disables the links of a banned partner, and enables those of any other. The status is read while each link is locked, so that
     * among concurrent calls the last one to change a link applies the latest status.
     */
    applyBanToLinks: (workspaceId: string, id: string): Promise<void> =>
      changeAll(links, workspaceId, linksOf(id), async (link) => {
        const partner = await partners.table.get(workspaceId, id);
        const disabledAt = partner?.record.status === 'banned' ? partner.record.bannedAt : null;
        return link.disabledAt === disabledAt ? link : { ...link, disabledAt };
      }),
  };
}
