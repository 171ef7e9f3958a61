import { ApiError, exceededJsonSize } from '@waymark/contract';

/** A bulk request of a hundred links with every field set has about 5,000 values. */
const VALUES_MAX = 20_000;
/**
 * A route with a smaller limit of bytes allows fewer values. The smallest is 128 kB, so 8,192 values; metadata of 10,000 characters has at
 * most 5,000.
 */
const BYTES_PER_VALUE = 16;
/** Schemas walk all values, some recursively. */
const LEVELS_MAX = 100;

/**
 * The error for a JSON body with too many values or levels, before it is parsed.
 *
 * @param bytesMax how long the body may be
 */
export function bodySizeError(text: string, bytesMax: number): ApiError | null {
  const values = Math.min(VALUES_MAX, bytesMax / BYTES_PER_VALUE);
  const exceeded = exceededJsonSize(text, { values, levels: LEVELS_MAX });
  if (exceeded === 'levels') return new ApiError('bad_request', `The request body has more than ${LEVELS_MAX} levels.`);
  if (exceeded === 'values') return new ApiError('bad_request', `The request body holds more than ${values} values.`);
  return null;
}
