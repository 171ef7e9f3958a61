import { API_READ, type Catalog, type LinkBaseline, type LinkRecord, normaliseKey } from '@waymark/catalog';
import { chunksOf, type ImportSource } from '@waymark/contract';
import { RowError } from '../model/source-link.js';
import type { DomainMap } from '../run/domain-map.js';
import type { PastAddress } from './past-event.js';

const LINKS_MAX = 20_000;
const LINKS_PER_UPDATE = 250;
/** Longer than the address of any link, however its key is written. */
const ADDRESS_CHARS_MAX = 4_000;
/** Look-ups at the same time, which the catalog combines. */
const LOOKUPS_AT_ONCE = 100;

export interface PastLinksOptions {
  readonly catalog: Pick<Catalog, 'links' | 'domains'>;
  readonly workspaceId: string;
  readonly source: ImportSource;
  readonly domains: DomainMap;
  /** The domain of links that name none. */
  readonly fallbackDomain: string | undefined;
  readonly now: () => number;
}

/** Looks up the links of events by their addresses at the source, and caches them. */
export function createPastLinks({ catalog, workspaceId, source, domains, fallbackDomain, now }: PastLinksOptions) {
  const found = new Map<string, Promise<LinkRecord | undefined>>();
  const marked = new Set<string>();

  async function load(domain: string, key: string): Promise<LinkRecord | undefined> {
    const link = await catalog.links.findByAddress(domain, normaliseKey(key), API_READ);
    return link?.workspaceId === workspaceId ? link : undefined;
  }

  /** @throws RowError when the link has no domain */
  function addressOf({ domain: sourceDomain, key }: PastAddress) {
    const domain = domains.domainOf(sourceDomain) ?? fallbackDomain;
    if (domain === undefined) throw new RowError('the link has no domain: name one with the option domain');
    return { domain, key, address: `${domain}/${key}` };
  }

  /** Removes the older half of a full cache: the links of a batch are among the others. */
  function evict(): void {
    if (found.size < LINKS_MAX) return;
    for (const address of [...found.keys()].slice(0, LINKS_MAX / 2)) found.delete(address);
  }

  /** @throws RowError when there can be no such link */
  function lookUp(of: PastAddress): Promise<LinkRecord | undefined> {
    const { domain, key, address } = addressOf(of);
    if (address.length > ADDRESS_CHARS_MAX) throw new RowError('the address of the link is too long');
    evict();
    const loading = found.get(address) ?? load(domain, key);
    found.set(address, loading);
    return loading;
  }

  return {
    /** Looks up links together that {@link find} returns afterwards, which also throws what is thrown here. */
    async prepare(addresses: readonly PastAddress[]): Promise<void> {
      const distinct = [...new Map(addresses.map((of) => [`${of.domain}/${of.key}`, of])).values()];
      const attempt = async (of: PastAddress) => lookUp(of);
      for (const some of chunksOf(distinct, LOOKUPS_AT_ONCE)) await Promise.allSettled(some.map(attempt));
    },

    /** @throws RowError when the workspace has no such link */
    async find(of: PastAddress): Promise<LinkRecord> {
      const link = await lookUp(of);
      if (link === undefined) throw new RowError(`there is no link ${addressOf(of).address} in this workspace`);
      return link;
    },

    /** Sets the baselines of the links to 0 for good: their events are stored now, and a baseline would count the same clicks again. */
    async replaceBaselines(links: readonly LinkRecord[]): Promise<void> {
      const ids = [
        ...new Set(
          links.filter(({ id, baseline }) => !marked.has(id) && baseline?.areEvents !== true).map(({ id }) => id),
        ),
      ];
      const baseline: LinkBaseline = {
        source,
        importedAt: new Date(now()).toISOString(),
        clicks: 0,
        leads: 0,
        conversions: 0,
        sales: 0,
        saleAmount: 0,
        areEvents: true,
      };
      for (const some of chunksOf(ids, LINKS_PER_UPDATE)) {
        await catalog.links.updateMany(workspaceId, some, (record) =>
          record.baseline?.areEvents === true ? record : { ...record, baseline },
        );
        if (marked.size > LINKS_MAX) marked.clear();
        for (const id of some) marked.add(id);
      }
    },
  };
}
