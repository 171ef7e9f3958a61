import { addressContains, ifDefined } from '../lists/list-conditions.js';
import { BY_CREATION } from '../lists/record-list.js';
import type { DomainRecord } from '../model/record-schemas.js';
import type { New, ResourceRules } from '../resources/resource.js';

export type NewDomain = New<DomainRecord, 'slug'>;

export interface DomainFilters {
  /** Whether the list also contains archived domains. */
  readonly isArchivedShown: boolean;
  /** Part of the slug. */
  readonly search?: string | undefined;
}

/** The rules of domains. All domains of a self-hosted installation count as verified. */
export const DOMAIN_RULES: ResourceRules<DomainRecord, NewDomain, DomainFilters, 'createdAt' | 'slug'> = {
  title: 'domain',
  complete: (input) => ({
    verified: true,
    primary: false,
    archived: false,
    placeholder: null,
    expiredUrl: null,
    notFoundUrl: null,
    logo: null,
    assetLinks: null,
    appleAppSiteAssociation: null,
    movedFrom: null,
    ...input,
  }),
  conditions: ({ isArchivedShown, search }) => [
    ...(isArchivedShown ? [] : [{ sql: 'archived = 0', values: {} }]),
    ...ifDefined(search, (text) => addressContains('slug', text)),
  ],
  sorts: { createdAt: BY_CREATION, slug: { by: 'slug' } },
};
