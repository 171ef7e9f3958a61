import { type Catalog, type CustomerRecord, type KeyCaller, shortLinkOf, visibleLinks } from '@waymark/catalog';
import type { ExpandedCustomer } from '@waymark/contract';
import { customerObjects } from './customer-objects.js';

const present = (ids: readonly (string | null)[]) => ids.filter((id) => id !== null);

/** Like {@link customerObjects}, with links, programs and partners. A link that the caller may not see is null. */
export async function expandedCustomers(
  catalog: Catalog,
  caller: KeyCaller,
  records: readonly CustomerRecord[],
): Promise<ExpandedCustomer[]> {
  const workspaceId = caller.workspace.id;
  const [customers, found, partners] = await Promise.all([
    customerObjects(catalog, workspaceId, records),
    catalog.links.getMany(workspaceId, present(records.map(({ linkId }) => linkId))),
    catalog.partners.getMany(workspaceId, present(records.map(({ partnerId }) => partnerId))),
  ]);
  const seen = await visibleLinks(catalog, caller, [...found.values()]);
  const links = new Map(seen.map((link) => [link.id, link]));
  return customers.map((customer, index) => {
    const { linkId = null, partnerId = null, programId = null } = records[index] ?? {};
    const link = linkId === null ? undefined : links.get(linkId);
    const partner = partnerId === null ? undefined : partners.get(partnerId);
    return {
      ...customer,
      link:
        link === undefined
          ? null
          : {
              id: link.id,
              domain: link.domain,
              key: link.key,
              shortLink: shortLinkOf(link.domain, link.key),
              url: link.url,
              programId: link.programId,
            },
      programId,
      partner:
        partner === undefined
          ? null
          : { id: partner.id, name: partner.name, email: partner.email, image: partner.image },
      discount: null,
    };
  });
}
