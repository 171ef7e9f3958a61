import { isUtf8 } from 'node:buffer';
import { ApiError } from '@waymark/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bodySizeError } from './body-size.js';
import { wellFormedBody } from './well-formed-body.js';

/** The types that clients declare by default for a body given as text, which may be JSON. */
export const TEXT_BODY_TYPES = ['text/plain', 'application/x-www-form-urlencoded'];

const JSON_TYPE = 'application/json';

type Done = (err: Error | null, body?: unknown) => void;

/**
 * Whether a browser may have added the credentials by itself, as it does with Basic ones: such a request may come from a page of another
 * site, which can send any of {@link TEXT_BODY_TYPES} or no type without a preflight, but not JSON. No browser adds an API key.
 */
const hasBasicCredentials = ({ headers }: FastifyRequest) => /^\s*basic\b/i.test(headers.authorization ?? '');

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/**
 * Makes an app accept JSON bodies in UTF-8 only, also with one of {@link TEXT_BODY_TYPES} or without a type. An empty body counts as none,
 * because SDKs send the Content-Type with DELETE too.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const readJson = (request: FastifyRequest, body: Buffer, done: Done) => {
    if (body.length === 0 || request.is404) return done(null, undefined);
    if (!isUtf8(body)) return done(new ApiError('bad_request', 'The request body is not valid UTF-8.'));
    const text = body.toString();
    const sizeError = bodySizeError(text, request.routeOptions.bodyLimit);
    if (sizeError) return done(sizeError);
    parse(request, text, (err, value) => done(err, err ? undefined : wellFormedBody(text, value)));
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(JSON_TYPE, { parseAs: 'buffer' }, readJson);
  app.addContentTypeParser<Buffer>(TEXT_BODY_TYPES, { parseAs: 'buffer' }, (request, body, done) => {
    if (request.is404 || !hasBasicCredentials(request)) return readJson(request, body, done);
    done(new ApiError('bad_request', `The Content-Type of a request body must be ${JSON_TYPE}.`));
  });
  // Fastify chooses the parser by this header.
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    if (headers['content-type'] === undefined && hasBody(request) && !hasBasicCredentials(request))
      headers['content-type'] = JSON_TYPE;
    done();
  });
}
