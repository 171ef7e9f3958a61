import type { EventKind, MultiValueFilter } from '@waymark/contract';
import type { TimeRange } from '../dates/time-range.js';
import type { MetadataQuery } from '../metadata-query/metadata-query.js';
import type { ValueLists } from './multi-value.js';
import type { Page } from './page.js';

/** A filter as the caller means it; values are in the form in which they are stored. */
export type Filter =
  | { readonly type: 'list'; readonly parameter: MultiValueFilter; readonly values: ValueLists }
  | { readonly type: 'root'; readonly isRoot: boolean }
  | { readonly type: 'saleType'; readonly saleType: 'new' | 'recurring' }
  | { readonly type: 'program'; readonly programId: string }
  | { readonly type: 'customer'; readonly customer: CustomerReference }
  | { readonly type: 'metadata'; readonly query: MetadataQuery };

/** The one customer to look at, by its id or by the caller's own (`ext_…`). */
export type CustomerReference =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'externalId'; readonly externalId: string };

/** The one link that the request is about; it has to be looked up before the request can be bound. */
export type LinkReference =
  | { readonly by: 'externalId'; readonly externalId: string }
  | { readonly by: 'address'; readonly domain: string; readonly key: string };

/** What `/events` and `/analytics` have in common: which events are meant. */
export interface ParsedFilters {
  readonly kind: EventKind;
  readonly range: TimeRange;
  readonly filters: readonly Filter[];
  readonly link: LinkReference | undefined;
  /** The first folder that is listed, to keep or to leave out: it has to exist and be readable. */
  readonly folderId: string | undefined;
}

export interface ParsedRequest extends ParsedFilters {
  readonly page: Page;
}
