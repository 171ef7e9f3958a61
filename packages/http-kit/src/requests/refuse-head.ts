import { ApiError } from '@waymark/contract';
import type { FastifyInstance, RouteOptions } from 'fastify';

/**
 * An `onRoute` hook that adds a `HEAD` route to each `GET` route with `exposeHeadRoute: false`, whose response is produced while it is
 * sent. The `HEAD` route checks the key as the `GET` route does, and then responds with 405.
 */
export function refuseHead(this: FastifyInstance, { method, url, exposeHeadRoute, onRequest }: RouteOptions): void {
  if (method !== 'GET' || exposeHeadRoute !== false) return;
  const refuse = async () => {
    throw new ApiError(
      'bad_request',
      'This address answers GET only, because its answer is generated while it is sent.',
      { http: { status: 405, headers: { allow: 'GET' } } },
    );
  };
  this.route({
    method: 'HEAD',
    url,
    schema: { hide: true },
    onRequest: [...[onRequest ?? []].flat(), refuse],
    handler: refuse,
  });
}
