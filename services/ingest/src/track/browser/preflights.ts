import type { CrossOrigin } from '@waymark/http-kit';
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify';

/** Keeps a route out of the OpenAPI document. */
const HIDDEN = { hide: true } as FastifySchema;

/** For the options of a route that pages of any site call, and of its preflight. */
export const FROM_PAGES: { readonly config: { readonly crossOrigin: CrossOrigin } } = {
  config: { crossOrigin: 'scripts' },
};

/** Answers the preflight of each path. */
export function answerPreflights(scope: FastifyInstance, paths: readonly string[]): void {
  for (const path of paths) {
    scope.options(
      path,
      { ...FROM_PAGES, schema: HIDDEN },
      async (_request, reply): Promise<FastifyReply> => reply.code(204).send(),
    );
  }
}
