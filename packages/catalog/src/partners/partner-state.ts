import type { LinkRecord, PartnerRecord } from '../model/record-schemas.js';
import type { ReadOptions } from '../store/record-reader.js';
import type { RecordStore } from '../store/record-store.js';

/** What a link was last shown as, and for which copy of its partner: visits of the same copies share one object. */
const shownLinks = new WeakMap<LinkRecord, { readonly partner: PartnerRecord; readonly shown: LinkRecord }>();

/** Since when a partner is deactivated or banned. Those that were deactivated before that was stored do not say it. */
const outSince = ({ bannedAt, updatedAt }: PartnerRecord) => bannedAt ?? updatedAt;

function earlier(time: string | null, other: string): string {
  return time !== null && Date.parse(time) <= Date.parse(other) ? time : other;
}

function applied(link: LinkRecord, partner: PartnerRecord): LinkRecord {
  const since = outSince(partner);
  return partner.status === 'banned'
    ? { ...link, disabledAt: link.disabledAt ?? since }
    : { ...link, expiresAt: earlier(link.expiresAt, since) };
}

/**
 * A link as visitors and readers meet it: links of a deactivated partner have expired, those of a banned one are disabled. The
 * record itself keeps what was set for the link, and is returned when its partner changes nothing.
 *
 * @param partner undefined when the link has none, or none that exists
 */
export function linkInState(link: LinkRecord, partner: PartnerRecord | undefined): LinkRecord {
  if (partner === undefined || (partner.status !== 'deactivated' && partner.status !== 'banned')) return link;
  const known = shownLinks.get(link);
  if (known?.partner === partner) return known.shown;
  const shown = applied(link, partner);
  shownLinks.set(link, { partner, shown });
  return shown;
}

/** Reads the partners of links, to give the links as {@link linkInState} has them. */
export function createPartnerState(partners: Pick<RecordStore<PartnerRecord>, 'get' | 'getMany'>) {
  return {
    async of(link: LinkRecord | undefined, options?: ReadOptions): Promise<LinkRecord | undefined> {
      if (link === undefined || link.partnerId === null) return link;
      return linkInState(link, await partners.get(link.workspaceId, link.partnerId, options));
    },

    /** Links of one workspace, in the order given. */
    async ofMany(workspaceId: string, links: readonly LinkRecord[]): Promise<readonly LinkRecord[]> {
      const ids = new Set(links.flatMap(({ partnerId }) => partnerId ?? []));
      if (ids.size === 0) return links;
      const found = await partners.getMany(workspaceId, [...ids]);
      return links.map((link) => linkInState(link, found.get(link.partnerId ?? '')));
    },
  };
}
