import { ApiError } from '@waymark/contract';
import type { FastifyRequest, RouteOptions } from 'fastify';

/** A percent sign that begins no escape; it stands for itself. */
const LONE_PERCENT = /%(?![\da-f]{2})/gi;

/** @throws ApiError when escapes of the query string are not UTF-8: the parser would leave them as they are, and a filter match nothing */
async function checkQueryText({ raw }: FastifyRequest): Promise<void> {
  const { url = '' } = raw;
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return;
  try {
    decodeURIComponent(url.slice(start).replace(LONE_PERCENT, '%25'));
  } catch (err) {
    if (!(err instanceof URIError)) throw err;
    throw new ApiError('bad_request', 'The query string is not valid UTF-8.', { cause: err });
  }
}

/**
 * An `onRoute` hook that makes routes with a schema for their query string refuse one that is not UTF-8. Redirects have none: the query of a
 * visit belongs to its destination. Neither do routes for pages of other sites check it: the address of a page may be in any encoding.
 */
export function refuseInvalidQueryText(route: RouteOptions): void {
  if (route.schema?.querystring === undefined || route.config?.crossOrigin !== undefined) return;
  route.preValidation = [checkQueryText, ...[route.preValidation ?? []].flat()];
}
