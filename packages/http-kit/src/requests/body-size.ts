import { ApiError } from '@waymark/contract';

/** A bulk request of a hundred links with every field set has about 5,000 values. */
const VALUES_MAX = 20_000;
const LEVELS_MAX = 100;

/** The error for a parsed body that is too large or nested too deeply to validate, as schemas walk all of it, some recursively. */
export function bodySizeError(body: unknown): ApiError | null {
  let values = 1;
  let level = [body];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LEVELS_MAX) return new ApiError('bad_request', `The request body has more than ${LEVELS_MAX} levels.`);
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const inner of Object.values(value)) next.push(inner);
      if (values + next.length > VALUES_MAX) {
        return new ApiError('bad_request', `The request body holds more than ${VALUES_MAX} values.`);
      }
    }
    values += next.length;
    level = next;
  }
  return null;
}
