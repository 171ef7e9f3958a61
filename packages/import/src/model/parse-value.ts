import { exceededJsonSize } from '@waymark/contract';
import { RowError } from './source-link.js';

/** Metadata of 10,000 characters has fewer. */
const SIZE_MAX = { values: 5_000, levels: 1_000 };

/**
 * The value of a field that holds JSON as text.
 *
 * @throws RowError when it has more values than any such field may have; SyntaxError when it is no JSON
 */
export function parseValue(name: string, text: string): unknown {
  const exceeded = exceededJsonSize(text, SIZE_MAX);
  if (exceeded !== undefined) throw new RowError(`${name} has more than ${SIZE_MAX[exceeded]} ${exceeded}`);
  return JSON.parse(text);
}
