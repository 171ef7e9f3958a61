import type { CrossOrigin } from '@waymark/http-kit';
import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify';

/** Keeps a route out of the OpenAPI document. */
export const UNDOCUMENTED = { hide: true } as FastifySchema;

/** Options of routes that pages of any origin may call, and of their preflights. */
export const BROWSER_ROUTE: { readonly config: { readonly crossOrigin: CrossOrigin } } = {
  config: { crossOrigin: 'scripts' },
};

/**
 * How long a browser may call a path without another preflight: as long as Chromium accepts. The answer depends on neither the page nor its
 * workspace: the list of hosts is checked at each call.
 */
const PREFLIGHT_SECONDS = 7200;

/** Answers the preflight of each path. */
export function answerPreflights(scope: FastifyInstance, paths: readonly string[]): void {
  for (const path of paths) {
    scope.options(
      path,
      { ...BROWSER_ROUTE, schema: UNDOCUMENTED },
      async (_request, reply): Promise<FastifyReply> =>
        reply.code(204).header('access-control-max-age', PREFLIGHT_SECONDS).send(),
    );
  }
}
