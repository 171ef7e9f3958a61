import type { FastifyInstance, FastifyReply, FastifySchema } from 'fastify';

/** Keeps a route out of the OpenAPI document. */
const HIDDEN = { hide: true } as FastifySchema;

/** Answers the preflight of each path; its headers are those of every answer there. */
export function answerPreflights(scope: FastifyInstance, paths: readonly string[]): void {
  for (const path of paths) {
    scope.options(path, { schema: HIDDEN }, async (_request, reply): Promise<FastifyReply> => reply.code(204).send());
  }
}
