import type { CrossOrigin } from '@waymark/http-kit';
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify';

/** Keeps a route out of the OpenAPI document. */
export const HIDDEN = { hide: true } as FastifySchema;

/** Options of routes that pages of any origin may call, and of their preflights. */
export const BROWSER_ROUTE: { readonly config: { readonly crossOrigin: CrossOrigin } } = {
  config: { crossOrigin: 'scripts' },
};

/** Answers the preflight of each path. */
export function answerPreflights(scope: FastifyInstance, paths: readonly string[]): void {
  for (const path of paths) {
    scope.options(
      path,
      { ...BROWSER_ROUTE, schema: HIDDEN },
      async (_request, reply): Promise<FastifyReply> => reply.code(204).send(),
    );
  }
}
