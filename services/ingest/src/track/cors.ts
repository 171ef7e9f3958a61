import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify';

/** Browser scripts call from any site; what they may do is decided by the workspace's hostnames (spec 1.9, 6.1). */
const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'Content-Type, Authorization',
} as const;

/** Keeps a route out of the OpenAPI document. */
const HIDDEN = { hide: true } as FastifySchema;

/** Adds the headers to every answer of the scope, errors included, and answers the preflight of each path. */
export function allowCrossOrigin(scope: FastifyInstance, paths: readonly string[]): void {
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers(CORS_HEADERS);
  });
  for (const path of paths) {
    scope.options(path, { schema: HIDDEN }, async (_request, reply): Promise<FastifyReply> => reply.code(204).send());
  }
}
