/** Path to a value in the metadata: its keys, outermost first. */
export type MetadataKeys = readonly [string, ...string[]];

export type SizeOperator = '>' | '>=' | '<' | '<=';

/** A condition on the value at one path of an event's metadata. */
export type MetadataCondition =
  /** The value is a scalar with this text form. */
  | { readonly type: 'equals'; readonly keys: MetadataKeys; readonly text: string }
  /** There is a value at the path, which may be an object or list. */
  | { readonly type: 'exists'; readonly keys: MetadataKeys }
  /** The value is a number, or a string with a decimal number, and the comparison is true. */
  | {
      readonly type: 'compares';
      readonly keys: MetadataKeys;
      readonly operator: SizeOperator;
      /** NaN = the query does not compare with a number: nothing matches. */
      readonly number: number;
    };

/** The syntax tree of the `query` parameter; `grammar.md` defines the language. */
export type MetadataQuery =
  | MetadataCondition
  | { readonly type: 'not'; readonly of: MetadataQuery }
  | { readonly type: 'and' | 'or'; readonly of: readonly [MetadataQuery, MetadataQuery, ...MetadataQuery[]] };
