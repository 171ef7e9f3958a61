/** From the outermost key inwards; at least one. */
export type MetadataKeys = readonly [string, ...string[]];

export type SizeOperator = '>' | '>=' | '<' | '<=';

/** A question about one place in an event's metadata. */
export type MetadataCondition =
  /** The scalar there has this text form. */
  | { readonly type: 'equals'; readonly keys: MetadataKeys; readonly text: string }
  /** There is a scalar there, or anywhere below. */
  | { readonly type: 'exists'; readonly keys: MetadataKeys }
  /** There is a number there, or the text of one, and it compares so. */
  | {
      readonly type: 'compares';
      readonly keys: MetadataKeys;
      readonly operator: SizeOperator;
      /** NaN = the query names none: nothing compares so. */
      readonly number: number;
    };

/** What the `query` parameter says; `grammar.md` is its language. */
export type MetadataQuery =
  | MetadataCondition
  | { readonly type: 'not'; readonly of: MetadataQuery }
  | { readonly type: 'and' | 'or'; readonly of: readonly [MetadataQuery, MetadataQuery, ...MetadataQuery[]] };
