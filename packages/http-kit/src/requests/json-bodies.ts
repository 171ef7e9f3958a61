import { isUtf8 } from 'node:buffer';
import { ApiError } from '@waymark/contract';
import type { FastifyInstance, FastifyRequest, FastifySchema, RouteOptions } from 'fastify';
import { z } from 'zod';
import { bodySizeError } from './body-size.js';
import { wellFormedBody } from './well-formed-body.js';

/** The types that clients declare by default for a body given as text, which may be JSON. */
export const TEXT_BODY_TYPES = ['text/plain', 'application/x-www-form-urlencoded'];

const JSON_TYPE = 'application/json';

/** Field of a route's schema, and of its operation in the document, which says that the body may be absent. */
export const OPTIONAL_BODY = 'x-optional-body';

/** The methods of changes. `PUT` of a link or a tag is another name of its `PATCH`. */
const CHANGES: ReadonlySet<string> = new Set(['PATCH', 'PUT']);

type Done = (err: Error | null, body?: unknown) => void;

const hasBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;

/**
 * Makes an app accept JSON bodies in UTF-8 only, also with one of {@link TEXT_BODY_TYPES} or without a type. An empty body counts as none,
 * because SDKs send the Content-Type with DELETE too. A scope without a parser for {@link TEXT_BODY_TYPES} reads bodies of the type of JSON only.
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  const readJson = (request: FastifyRequest, body: Buffer, done: Done) => {
    if (body.length === 0) return done(null, undefined);
    if (!isUtf8(body)) return done(new ApiError('bad_request', 'The request body is not valid UTF-8.'));
    const text = body.toString();
    const sizeError = bodySizeError(text, request.routeOptions.bodyLimit);
    if (sizeError) return done(sizeError);
    parse(request, text, (err, value) => done(err, err ? undefined : wellFormedBody(text, value)));
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>([JSON_TYPE, ...TEXT_BODY_TYPES], { parseAs: 'buffer' }, readJson);
  // Fastify chooses the parser by this header, and calls the hook on the scope of the route.
  app.addHook('onRequest', function (request, _reply, done) {
    const { headers } = request.raw;
    const isUndeclared = headers['content-type'] === undefined && hasBody(request);
    if (isUndeclared && TEXT_BODY_TYPES.every((type) => this.hasContentTypeParser(type)))
      headers['content-type'] = JSON_TYPE;
    done();
  });
}

async function readAbsentAsEmpty(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {};
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on routes for changes that have effects also without a field: they refuse a request without a body. */
    needsBody?: boolean;
  }
}

/**
 * An `onRoute` hook that makes a route for changes read an absent body as `{}` if none of its fields is required: in the types of SDKs such a body
 * is optional. The JSON value `null` is a body, which is refused. Set the hook before any route is added.
 */
export function acceptAbsentBody(route: RouteOptions): void {
  const { body } = route.schema ?? {};
  const isChange = [route.method].flat().every((method) => CHANGES.has(method));
  if (!isChange || route.config?.needsBody === true || !(body instanceof z.ZodType) || !body.safeParse({}).success)
    return;
  route.preValidation = [readAbsentAsEmpty, ...[route.preValidation ?? []].flat()];
  route.schema = { ...route.schema, [OPTIONAL_BODY]: true } as FastifySchema;
}
