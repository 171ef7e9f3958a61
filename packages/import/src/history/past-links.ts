import { API_READ, type Catalog, type LinkBaseline, type LinkRecord, normaliseKey } from '@waymark/catalog';
import { RowError, type Source } from '../model/source-link.js';
import type { DomainMap } from '../run/domain-map.js';
import type { PastAddress } from './past-event.js';

const LINKS_MAX = 20_000;
const LINKS_PER_UPDATE = 250;

export interface PastLinksOptions {
  readonly catalog: Pick<Catalog, 'links' | 'domains'>;
  readonly workspaceId: string;
  readonly source: Source;
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

  return {
    /** @throws RowError or ImportError when the workspace has no such link */
    async find({ domain: sourceDomain, key }: PastAddress): Promise<LinkRecord> {
      const domain = domains.domainOf(sourceDomain) ?? fallbackDomain;
      if (domain === undefined) throw new RowError('the link has no domain: name one with the option domain');
      const address = `${domain}/${key}`;
      if (found.size >= LINKS_MAX) found.clear();
      const loading = found.get(address) ?? load(domain, key);
      found.set(address, loading);
      const link = await loading;
      if (link === undefined) throw new RowError(`there is no link ${address} in this workspace`);
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
        ...{ source, importedAt: new Date(now()).toISOString() },
        ...{ clicks: 0, leads: 0, conversions: 0, sales: 0, saleAmount: 0, areEvents: true },
      };
      for (let start = 0; start < ids.length; start += LINKS_PER_UPDATE) {
        const part = ids.slice(start, start + LINKS_PER_UPDATE);
        await catalog.links.updateMany(workspaceId, part, (record) =>
          record.baseline?.areEvents === true ? record : { ...record, baseline },
        );
        if (marked.size > LINKS_MAX) marked.clear();
        for (const id of part) marked.add(id);
      }
    },
  };
}
