/**
 * The syntax tree of a query: bind and plan build it, print turns it into SQL. Names of tables and columns are literals of this
 * file; everything from a request is a `Value`, which is sent as a query parameter. That rules out SQL injection.
 */

export type EventTableName = 'click_events' | 'lead_events' | 'sale_events';
export type CatalogTableName = 'links' | 'tags' | 'folders' | 'partners' | 'groups' | 'partner_tags';
export type TableName = EventTableName | CatalogTableName | 'workspace_slots' | 'link_totals';

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
  | 'stored_at'
  | 'clicks'
  | 'leads'
  | 'sales'
  | 'sale_amount';

/** A query parameter with its ClickHouse type. Times are text in UTC without a zone. */
export type Value =
  | { readonly type: 'String' | "DateTime64(3, 'UTC')" | "DateTime('UTC')" | 'Date'; readonly value: string }
  | { readonly type: 'UInt64' | 'UInt8'; readonly value: bigint }
  | { readonly type: 'Float64'; readonly value: number }
  | { readonly type: 'Array(String)'; readonly value: readonly string[] }
  | { readonly type: 'Array(UInt64)'; readonly value: readonly bigint[] }
  | { readonly type: 'Array(Int64)'; readonly value: readonly bigint[] };

type ListValue = Extract<Value, { readonly type: `Array(${string})` }>;

/** A condition on a row. */
export type Condition =
  | {
      readonly type: 'compare';
      readonly column: ColumnName;
      readonly operator: '=' | '!=' | '>=' | '<=';
      readonly value: Value;
    }
  /** Compares tuples: `(a, b) < (x, y)`. */
  | {
      readonly type: 'compareTuple';
      readonly columns: readonly ColumnName[];
      readonly operator: '<' | '>' | '<=' | '>=';
      readonly values: readonly Value[];
    }
  /** `isFolded`: the column is converted to lower case (A-Z only) first. */
  | { readonly type: 'in'; readonly column: ColumnName; readonly isFolded: boolean; readonly values: ListValue }
  /** The column, an array, contains at least one of the values. */
  | { readonly type: 'hasAny'; readonly column: ColumnName; readonly values: ListValue }
  /** The column, an array, contains the value. */
  | { readonly type: 'has'; readonly column: ColumnName; readonly value: Value }
  /** The column, an array of strings, contains one with the prefix. */
  | { readonly type: 'hasPrefix'; readonly column: ColumnName; readonly prefix: Value }
  /** Compares the number at a metadata path. Only valid where the path exists. */
  | {
      readonly type: 'numberAt';
      readonly path: Value;
      readonly operator: '>' | '>=' | '<' | '<=';
      readonly number: Value;
    }
  /** The values of the columns are a row of the subquery `read`. */
  | { readonly type: 'inRead'; readonly columns: readonly ColumnName[]; readonly read: TableRead }
  | { readonly type: 'not'; readonly of: Condition }
  | { readonly type: 'and' | 'or'; readonly of: readonly [Condition, ...Condition[]] }
  /** Matches no row. */
  | { readonly type: 'nothing' };

/**
 * A read of one table. The workspace is mandatory: print always adds the condition on it, even if `where` is empty, so no query
 * can read rows of another workspace.
 */
export interface TableRead {
  readonly table: TableName;
  /** Whether to read with FINAL: only the newest version of each row, without removed rows (catalog tables). */
  readonly isFinal: boolean;
  readonly workspace: bigint;
  readonly columns: readonly ColumnName[];
  readonly where: readonly Condition[];
}
