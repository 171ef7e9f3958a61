import { ApiError } from '@waymark/contract';
import type { FastifyInstance, RouteOptions } from 'fastify';

/**
 * An `onRoute` hook: a `GET` route with `exposeHeadRoute: false`, whose answer is made while it is sent, answers `HEAD` with 405 instead
 * of 404, after the checks of its key. The response is the same for every request, so nothing is made or counted for it.
 */
export function refuseHead(this: FastifyInstance, { method, url, exposeHeadRoute, onRequest }: RouteOptions): void {
  if (method !== 'GET' || exposeHeadRoute !== false) return;
  const refuse = async () => {
    throw new ApiError('bad_request', 'This address answers GET only, because its answer is made while it is sent.', {
      http: { status: 405, headers: { allow: 'GET' } },
    });
  };
  this.route({
    method: 'HEAD',
    url,
    schema: { hide: true },
    onRequest: [...[onRequest ?? []].flat(), refuse],
    handler: refuse,
  });
}
