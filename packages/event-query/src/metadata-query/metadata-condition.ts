import { metadataPath, metadataText } from '@waymark/contract';
import { NOTHING, not } from '../sql/conditions.js';
import type { Condition, Value } from '../sql/sql-nodes.js';
import type { MetadataCondition, MetadataQuery } from './metadata-query.js';

function textValue(value: string): Value {
  return { type: 'String', value };
}

/** The row has a scalar value at the path. Entries of the column `metadata_paths` end in `=`. */
function hasPath(path: Value): Condition {
  return { type: 'has', column: 'metadata_paths', value: path };
}

function conditionOf(condition: MetadataCondition): Condition {
  const path = metadataPath(condition.keys);
  switch (condition.type) {
    case 'equals': {
      const pair = textValue(`${path}=${metadataText(condition.text)}`);
      return { type: 'has', column: 'metadata_kv', value: pair };
    }
    case 'exists': {
      const below: Condition = { type: 'hasPrefix', column: 'metadata_paths', prefix: textValue(`${path}.`) };
      return { type: 'or', of: [hasPath(textValue(`${path}=`)), below] };
    }
    case 'compares': {
      if (Number.isNaN(condition.number)) return NOTHING;
      const value = textValue(`${path}=`);
      const number: Value = { type: 'Float64', value: condition.number };
      // `hasPath` is needed because a missing path would read as the number 0; it also lets the index skip granules.
      return {
        type: 'and',
        of: [hasPath(value), { type: 'numberAt', path: value, operator: condition.operator, number }],
      };
    }
  }
}

/** Translates a metadata query into a condition on the row of a lead or sale. */
export function metadataCondition(query: MetadataQuery): Condition {
  switch (query.type) {
    case 'and':
    case 'or': {
      const [first, ...rest] = query.of;
      return { type: query.type, of: [metadataCondition(first), ...rest.map(metadataCondition)] };
    }
    case 'not':
      return not(metadataCondition(query.of));
    default:
      return conditionOf(query);
  }
}
