import type { FastifyReply } from 'fastify';

/**
 * Sends JSON that is text already, such as a page of events spliced from stored payloads. It is not checked against the
 * response schema of the route, so a test has to.
 */
export function sendJsonText(reply: FastifyReply, text: string | Buffer): FastifyReply {
  return reply.header('content-type', 'application/json; charset=utf-8').send(text);
}
