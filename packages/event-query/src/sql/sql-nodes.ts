/**
 * The plain data that bind and plan build and print turns into text. Names are literals of this file; everything that came
 * from outside is a `Value`, which print sends as a parameter.
 */

export type EventTable = 'click_events' | 'lead_events' | 'sale_events';
export type CatalogTable = 'links' | 'tags' | 'folders' | 'partners' | 'groups' | 'partner_tags';
export type TableName = EventTable | CatalogTable | 'workspace_slots' | 'link_totals';

export type ColumnName =
  | 'workspace_id'
  | 'timestamp'
  | 'click_id'
  | 'click_timestamp'
  | 'event_id'
  | 'event_name'
  | 'customer_id'
  | 'link_id'
  | 'trigger'
  | 'country'
  | 'region'
  | 'city'
  | 'continent'
  | 'device'
  | 'browser'
  | 'os'
  | 'referer'
  | 'referer_url'
  | 'url'
  | 'url_base'
  | 'utm_source'
  | 'utm_medium'
  | 'utm_campaign'
  | 'utm_term'
  | 'utm_content'
  | 'metadata_kv'
  | 'metadata_paths'
  | 'payload'
  | 'ip'
  | 'sale_type'
  | 'amount'
  | 'id'
  | 'deleted'
  | 'domain'
  | 'key'
  | 'tenant_id'
  | 'tag_ids'
  | 'folder_id'
  | 'access_level'
  | 'partner_id'
  | 'partner_tag_ids'
  | 'group_id'
  | 'program_id'
  | 'slot'
  | 'clicks'
  | 'leads'
  | 'sales'
  | 'sale_amount';

/** A value with the ClickHouse type it is sent as. Times are text in UTC without a zone. */
export type Value =
  | { readonly type: 'String' | "DateTime64(3, 'UTC')" | "DateTime('UTC')" | 'Date'; readonly value: string }
  | { readonly type: 'UInt64' | 'UInt8'; readonly value: bigint }
  | { readonly type: 'Float64'; readonly value: number }
  | { readonly type: 'Array(String)'; readonly value: readonly string[] }
  | { readonly type: 'Array(UInt64)'; readonly value: readonly bigint[] }
  | { readonly type: 'Array(Int64)'; readonly value: readonly bigint[] };

type ListValue = Extract<Value, { readonly type: `Array(${string})` }>;

export type Condition =
  | {
      readonly type: 'compare';
      readonly column: ColumnName;
      readonly operator: '=' | '!=' | '>=' | '<=';
      readonly value: Value;
    }
  /** The columns, taken together as one value, come before or after the values. */
  | {
      readonly type: 'compareTuple';
      readonly columns: readonly ColumnName[];
      readonly operator: '<' | '>' | '<=' | '>=';
      readonly values: readonly Value[];
    }
  /** `isFolded`: letters A-Z of the column are compared in lower case. */
  | { readonly type: 'in'; readonly column: ColumnName; readonly isFolded: boolean; readonly values: ListValue }
  /** The column, an array, has at least one of the values. */
  | { readonly type: 'hasAny'; readonly column: ColumnName; readonly values: ListValue }
  /** The column, an array, has the value. */
  | { readonly type: 'has'; readonly column: ColumnName; readonly value: Value }
  /** The column, an array of texts, has one that begins so. */
  | { readonly type: 'hasPrefix'; readonly column: ColumnName; readonly prefix: Value }
  /** The number that the metadata has at the path compares so; the path has to be there. */
  | {
      readonly type: 'numberAt';
      readonly path: Value;
      readonly operator: '>' | '>=' | '<' | '<=';
      readonly number: Value;
    }
  | { readonly type: 'inRead'; readonly columns: readonly ColumnName[]; readonly read: TableRead }
  | { readonly type: 'not'; readonly of: Condition }
  | { readonly type: 'and' | 'or'; readonly of: readonly [Condition, ...Condition[]] }
  | { readonly type: 'nothing' };

/**
 * A table as it is read: there is no way to name one without its workspace. `where` may be empty, the workspace condition
 * is printed in any case.
 */
export interface TableRead {
  readonly table: TableName;
  /** Only the newest version of each row, removed ones left out (catalog tables). */
  readonly isFinal: boolean;
  readonly workspace: bigint;
  readonly columns: readonly ColumnName[];
  readonly where: readonly Condition[];
}
