import { ApiError, type ErrorCode } from '@waymark/contract';

/**
 * A refused parameter, in the form every validation error has: `<issue code>: <path>: <text>`. The value itself is never
 * repeated.
 */
export function fault(
  issue: string,
  parameter: string,
  text: string,
  code: ErrorCode = 'unprocessable_entity',
): ApiError {
  return new ApiError(code, `${issue}: ${parameter}: ${text}`);
}
