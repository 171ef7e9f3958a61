import { ApiError } from '@waymark/contract';

/** The error for a request that names a domain of another workspace (docs/reference/errors.md). */
export function foreignDomain(slug: string): ApiError {
  return new ApiError('forbidden', `The domain "${slug}" does not belong to this workspace.`);
}
