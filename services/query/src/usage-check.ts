import type { Catalog } from '@waymark/catalog';
import type { FastifyRequest } from 'fastify';

/**
 * Checks that the workspace has not used up the events of its plan, and runs the reads of the request at the same time: counting the events
 * takes as long as reading a page. For routes with `attachValidation`, whose validation errors are thrown here.
 *
 * @throws the first of: ApiError 403 for a workspace beyond its plan, the validation error, what the reads throw
 */
export async function whileUsageChecked<T>(
  { eventUsage }: Pick<Catalog, 'eventUsage'>,
  { workspace, validationError }: Pick<FastifyRequest, 'workspace' | 'validationError'>,
  read: () => Promise<T>,
): Promise<T> {
  const checked = eventUsage.check(workspace);
  const result = validationError === undefined ? read() : Promise.reject(validationError);
  // If the check fails, nothing awaits the result: avoid an unhandled rejection.
  result.catch(() => undefined);
  await checked;
  return result;
}
