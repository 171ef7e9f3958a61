import type { Catalog } from '@waymark/catalog';
import type { FastifyRequest } from 'fastify';

/**
 * Runs the reads of a request while the events of its workspace are counted, which takes as long as a page. The result waits for both. For
 * routes with `attachValidation`.
 *
 * @throws ApiError 403 for a workspace beyond its plan, then the error of validation, then what the reads throw
 */
export async function whileChecked<T>(
  { eventUsage }: Pick<Catalog, 'eventUsage'>,
  { workspace, validationError }: Pick<FastifyRequest, 'workspace' | 'validationError'>,
  read: () => Promise<T>,
): Promise<T> {
  const checked = eventUsage.check(workspace);
  const result = validationError === undefined ? read() : Promise.reject(validationError);
  // Nothing awaits it when the check fails.
  result.catch(() => undefined);
  await checked;
  return result;
}
