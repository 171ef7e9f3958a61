import { ApiError, exceededJsonSize } from '@waymark/contract';

/** Limit on the JSON values of a body. A bulk request of a hundred links with every field set has about 5,000. */
const VALUES_MAX = 20_000;
/**
 * Routes with a smaller limit on bytes allow one value for this many bytes. The smallest limit is 128 kB, so 8,192 values; metadata of 10,000
 * characters has at most 5,000.
 */
const BYTES_PER_VALUE = 16;
/** Limit on the nesting of a body, because some schemas validate recursively. */
const LEVELS_MAX = 100;

/**
 * Checks a JSON body before it is parsed. Returns the error for a body with too many values or levels; null for others.
 *
 * @param bytesMax the route's limit on the bytes of the body
 */
export function bodySizeError(text: string, bytesMax: number): ApiError | null {
  const values = Math.min(VALUES_MAX, bytesMax / BYTES_PER_VALUE);
  const exceeded = exceededJsonSize(text, { values, levels: LEVELS_MAX });
  if (exceeded === 'levels') return new ApiError('bad_request', `The request body has more than ${LEVELS_MAX} levels.`);
  if (exceeded === 'values') return new ApiError('bad_request', `The request body holds more than ${values} values.`);
  return null;
}
