import { exceededJsonSize } from '@waymark/contract';
import { RowError } from './source-link.js';

/** Metadata may have 10,000 characters, which hold fewer than 5,000 values; requests to the API may have at most 100 levels. */
const SIZE_MAX = { values: 5_000, levels: 1_000 };

/**
 * The value of a field that holds JSON as text.
 *
 * @throws RowError when it has more values or levels than any valid field; SyntaxError when it is not JSON
 */
export function parseValue(name: string, text: string): unknown {
  const exceeded = exceededJsonSize(text, SIZE_MAX);
  if (exceeded !== undefined) throw new RowError(`${name} has more than ${SIZE_MAX[exceeded]} ${exceeded}`);
  return JSON.parse(text);
}
