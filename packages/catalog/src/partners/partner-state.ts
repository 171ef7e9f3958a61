import type { ReadOptions } from '../model/read-options.js';
import type { LinkRecord, PartnerRecord } from '../model/record-schemas.js';
import type { RecordStore } from '../store/record-store.js';

/** Cached results of {@link linkInState}, so that visits with the same copies of link and partner get the same object. */
const linksInState = new WeakMap<LinkRecord, { readonly partner: PartnerRecord; readonly shown: LinkRecord }>();

/** When the partner was deactivated or banned. Older records of deactivated partners have no `bannedAt`. */
const deactivatedSince = ({ bannedAt, updatedAt }: PartnerRecord) => bannedAt ?? updatedAt;

function earlier(time: string | null, other: string): string {
  return time !== null && Date.parse(time) <= Date.parse(other) ? time : other;
}

/** The link with the state of a banned or deactivated partner. */
function applied(link: LinkRecord, partner: PartnerRecord): LinkRecord {
  const since = deactivatedSince(partner);
  return partner.status === 'banned'
    ? { ...link, disabledAt: link.disabledAt ?? since }
    : { ...link, expiresAt: earlier(link.expiresAt, since) };
}

/**
 * Applies the state of its partner to a link, as visitors and API callers see it: links of a deactivated partner have expired, links of a
 * banned partner are disabled (docs/reference/partners.md). Returns a copy, or the record itself when the state of the partner has no
 * effect.
 *
 * @param partner undefined when the link has none, or none that exists
 */
export function linkInState(link: LinkRecord, partner: PartnerRecord | undefined): LinkRecord {
  if (partner === undefined || (partner.status !== 'deactivated' && partner.status !== 'banned')) return link;
  const known = linksInState.get(link);
  if (known?.partner === partner) return known.shown;
  const shown = applied(link, partner);
  linksInState.set(link, { partner, shown });
  return shown;
}

/** Reads the partners of links and applies {@link linkInState}. */
export function createPartnerState(partners: Pick<RecordStore<PartnerRecord>, 'get' | 'getMany'>) {
  return {
    /** Applies the state of its partner to a link; undefined for undefined. */
    async of(link: LinkRecord | undefined, options?: ReadOptions): Promise<LinkRecord | undefined> {
      if (link === undefined || link.partnerId === null) return link;
      return linkInState(link, await partners.get(link.workspaceId, link.partnerId, options));
    },

    /** Applies the states of their partners to links of one workspace; keeps their order. */
    async ofMany(workspaceId: string, links: readonly LinkRecord[]): Promise<readonly LinkRecord[]> {
      const ids = new Set(links.flatMap(({ partnerId }) => partnerId ?? []));
      if (ids.size === 0) return links;
      const found = await partners.getMany(workspaceId, [...ids]);
      return links.map((link) => linkInState(link, found.get(link.partnerId ?? '')));
    },
  };
}
