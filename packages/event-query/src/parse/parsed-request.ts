import type { EventKind, MultiValueFilter } from '@waymark/contract';
import type { TimeRange } from '../dates/time-range.js';
import type { MetadataQuery } from '../metadata-query/metadata-query.js';
import type { ValueLists } from './multi-value.js';
import type { Page } from './page.js';

/** A filter of the request, with its values in the form in which they are stored. */
export type Filter =
  | { readonly type: 'list'; readonly parameter: MultiValueFilter; readonly values: ValueLists }
  | { readonly type: 'root'; readonly isRoot: boolean }
  | { readonly type: 'saleType'; readonly saleType: 'new' | 'recurring' }
  | { readonly type: 'program'; readonly programId: string }
  | { readonly type: 'customer'; readonly customer: CustomerReference }
  | { readonly type: 'metadata'; readonly query: MetadataQuery };

/** The customer to filter by: its id, or the caller's own id for it (`ext_…`). */
export type CustomerReference =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'externalId'; readonly externalId: string };

/** The single link that the request selects; the caller looks up its id before bind. */
export type LinkReference =
  | { readonly by: 'externalId'; readonly externalId: string }
  | { readonly by: 'address'; readonly domain: string; readonly key: string };

/** A window of times of storage in epoch milliseconds, from `fromMs` on and before `toMs`. */
export interface StoredWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What `/events` and `/analytics` have in common: which events to select. */
export interface ParsedFilters {
  readonly kind: EventKind;
  readonly range: TimeRange;
  /** The window in which the events were stored; undefined = at any time. */
  readonly stored?: StoredWindow | undefined;
  readonly filters: readonly Filter[];
  readonly link: LinkReference | undefined;
  /** The first folder in the folder filter, included or excluded: the request fails unless it exists and is readable. */
  readonly folderId: string | undefined;
}

/** The parsed query string of `GET /events` or `GET /events/export`. */
export interface ParsedRequest extends ParsedFilters {
  readonly page: Page;
}
