import {
  anyOf,
  contains,
  dataText,
  equals,
  equalsIgnoringCase,
  hasId,
  ifDefined,
  isOneOf,
} from '../lists/list-conditions.js';
import type { PartnerRecord } from '../model/record-schemas.js';
import type { New, ResourceRules } from '../resources/resource.js';
import { PARTNER_SORTS, type PartnerSort } from './partner-totals.js';

/** The fields of a new partner; all except the name have defaults. */
export type NewPartner = New<PartnerRecord, 'name'>;

/** Columns, and fields of the JSON, that a search compares. */
const SEARCHED = ['name', 'email', 'tenant_id', dataText('username')];

/** Filters of a list of partners. */
export interface PartnerFilters {
  readonly groupId?: string | undefined;
  /** An empty `include` stands for all countries that are not excluded. */
  readonly countries?: { readonly include: readonly string[]; readonly exclude: readonly string[] } | undefined;
  readonly status?: PartnerRecord['status'] | undefined;
  /** Case-insensitive. */
  readonly email?: string | undefined;
  readonly tenantId?: string | undefined;
  /** A whole id, or a case-insensitive part of one of the fields {@link SEARCHED}. */
  readonly search?: string | undefined;
}

export const PARTNER_RULES: ResourceRules<PartnerRecord, NewPartner, PartnerFilters, PartnerSort> = {
  title: 'partner',
  complete: (input) => ({
    username: null,
    email: null,
    image: null,
    country: null,
    companyName: null,
    description: null,
    tenantId: null,
    groupId: null,
    programId: null,
    partnerTagIds: [],
    networkStatus: 'draft',
    status: 'approved',
    bannedAt: null,
    bannedReason: null,
    applicationFormData: null,
    rejection: null,
    ...input,
  }),
  conditions: ({ groupId, countries, status, email, tenantId, search }) => [
    ...ifDefined(groupId, (id) => hasId('group_id', 'partnerGroup', [id])),
    ...ifDefined(countries?.include.length ? countries.include : undefined, (list) => isOneOf('country', list)),
    ...ifDefined(countries?.exclude, (list) => isOneOf('country', list, true)),
    ...ifDefined(status, (value) => equals('status', value)),
    ...ifDefined(email, (value) => equalsIgnoringCase('email', value)),
    ...ifDefined(tenantId, (value) => equals('tenant_id', value)),
    ...ifDefined(search, (text) => anyOf([contains(SEARCHED, text), hasId('id', 'partner', [text])])),
  ],
  sorts: PARTNER_SORTS,
};
