import swagger from '@fastify/swagger';
import { ERROR_STATUS, type ErrorCode, errorBody, noQuerySchema } from '@waymark/contract';
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { type RouteRequirements, requirementsOf, requirementsText } from '../auth/route-requirements.js';
import { OPTIONAL_BODY } from '../requests/json-bodies.js';
import { sendJsonText } from '../requests/send-json.js';
import { PUBLISHABLE_KEY } from './document.js';
import { encodedOnce } from './encoded-once.js';
import { addExamples } from './examples.js';

/** Names of the security schemes in the document, by the kind of key that a route requires. */
const SECURITY_SCHEMES = { secret: 'token', publishable: PUBLISHABLE_KEY } as const;
const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];

/** Errors that a route without authentication can answer. */
const PUBLIC_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'bad_request',
  'forbidden',
  'not_found',
  'unprocessable_entity',
  'rate_limit_exceeded',
  'internal_server_error',
]);

type SwaggerOptions = Parameters<typeof jsonSchemaTransformObject>[0];
type OpenApiDocument = Extract<SwaggerOptions, { openapiObject: unknown }>['openapiObject'];

export interface OpenApiOptions {
  readonly title: string;
  /** Public address of the API; if undefined, the document has no server. */
  readonly baseUrl: string | undefined;
  readonly docBase: string;
}

/** `GET /links/{linkId}/x` → `getLinksLinkIdX`, for routes without an `operationId` of their own. */
function defaultOperationId(method: string, url: string): string {
  const words = url.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/**
 * Whether the route rejects unknown query parameters. Routes with a secret key do, because their callers are programs that may
 * misspell a name. Routes for web pages accept them, because pages and embedding sites add parameters of their own. Hidden routes
 * reject every request, or declare their own query.
 */
function isQueryClosed({ schema }: RouteOptions, requirements: RouteRequirements | undefined): boolean {
  return requirements !== undefined && requirements.keyKind !== 'publishable' && schema?.hide !== true;
}

/**
 * Completes the schema of a route: operation id, required key, required permissions behind its own description, and a closed query if it declares none.
 * Call it in an `onRoute` hook that is set before any route is added.
 */
export function describeRoute(route: RouteOptions): void {
  const method = Array.isArray(route.method) ? route.method.join('') : route.method;
  const requirements = requirementsOf(route);
  const description = route.schema?.description;
  const needs = requirements && requirementsText(requirements);
  route.schema = {
    operationId: defaultOperationId(method, route.url),
    ...(isQueryClosed(route, requirements) ? { querystring: noQuerySchema } : {}),
    ...(requirements === undefined ? {} : { security: [{ [SECURITY_SCHEMES[requirements.keyKind ?? 'secret']]: [] }] }),
    ...route.schema,
    ...(needs ? { description: description === undefined ? needs : `${description} ${needs}` } : {}),
  };
}

function errorResponse(code: ErrorCode, docBase: string) {
  return {
    description: `Error ${ERROR_STATUS[code]}: ${code}`,
    content: {
      'application/json': {
        schema: {
          type: 'object' as const,
          required: ['error'],
          properties: {
            error: {
              type: 'object' as const,
              required: ['code', 'message', 'doc_url'],
              properties: {
                code: { type: 'string' as const, enum: [code] },
                message: { type: 'string' as const },
                doc_url: { type: 'string' as const, example: errorBody(code, '', docBase).error.doc_url },
              },
            },
          },
        },
      },
    },
  };
}

/** Adds the error responses to every operation, as references. */
function withErrorResponses(document: OpenApiDocument, docBase: string): OpenApiDocument {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path ?? {})) {
      if (typeof operation !== 'object' || operation === null || !('responses' in operation)) continue;
      const responses = operation.responses as Record<string, unknown>;
      for (const code of ERROR_CODES) {
        if (operation.security === undefined && !PUBLIC_ERRORS.has(code)) continue;
        responses[ERROR_STATUS[code]] ??= { $ref: `#/components/responses/${code}` };
      }
    }
  }
  const responses = Object.fromEntries(ERROR_CODES.map((code) => [code, errorResponse(code, docBase)]));
  return { ...document, components: { ...document.components, responses } } as OpenApiDocument;
}

/** Removes named schemas without references: zod generates each schema both as input and as output. */
function withoutUnusedSchemas(document: OpenApiDocument): OpenApiDocument {
  const all: Record<string, unknown> = document.components?.schemas ?? {};
  const used = new Set<string>();
  const follow = (part: unknown) => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(all[name] ?? null);
    }
  };
  follow(document.paths ?? {});
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  return { ...document, components: { ...document.components, schemas } } as OpenApiDocument;
}

/** Name in a route's schema for the fields of a form that it accepts in place of a JSON body. */
const FORM = 'x-form';

/** Creates the function that describes a route. The fields of a form are described like a body; {@link withBodies} puts them beside it. */
function createTransform() {
  // Each document needs a transform of its own, because a transform caches the named schemas until their number changes.
  const transform = createJsonSchemaTransform({});
  return (input: Parameters<typeof transform>[0]): ReturnType<typeof transform> => {
    const { [FORM]: form, ...schema } = (input.schema ?? {}) as FastifySchema & { readonly [FORM]?: unknown };
    const described = transform({ ...input, schema });
    if (form === undefined || schema.hide === true) return described;
    const formSchema = transform({ ...input, schema: { body: form } as FastifySchema }).schema.body;
    return { ...described, schema: { ...described.schema, [FORM]: formSchema } as FastifySchema };
  };
}

interface BodyOperation {
  [FORM]?: unknown;
  [OPTIONAL_BODY]?: boolean;
  readonly requestBody?: { required?: boolean; readonly content: Record<string, unknown> };
}

/** Adds the forms that routes accept to their request bodies, as `multipart/form-data`, and marks the bodies that may be absent. */
function withBodies(document: OpenApiDocument): OpenApiDocument {
  for (const path of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(path ?? {}) as BodyOperation[]) {
      if (operation?.requestBody === undefined) continue;
      const { [FORM]: form, [OPTIONAL_BODY]: isOptional, requestBody } = operation;
      if (form !== undefined) requestBody.content['multipart/form-data'] = { schema: form };
      if (isOptional === true) requestBody.required = false;
      delete operation[FORM];
      delete operation[OPTIONAL_BODY];
    }
  }
  return document;
}

/** Generates the OpenAPI 3.1 document of all routes, and serves it at `/openapi.json`. */
export const openApiPlugin = fp<OpenApiOptions>(
  async (app: FastifyInstance, { title, baseUrl, docBase }) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title, version: '0.0.1' },
        servers: baseUrl === undefined ? [] : [{ url: baseUrl }],
        components: {
          securitySchemes: {
            [SECURITY_SCHEMES.secret]: { type: 'http', scheme: 'bearer', description: 'A workspace API key.' },
            [SECURITY_SCHEMES.publishable]: {
              type: 'http',
              scheme: 'bearer',
              description: 'A publishable key of the workspace, `dub_pk_…`, which may stand in a page.',
            },
          },
        },
      },
      transform: createTransform(),
      transformObject: (input) => {
        const document = withBodies(jsonSchemaTransformObject(input) as OpenApiDocument);
        addExamples(document.paths ?? {});
        return withErrorResponses(withoutUnusedSchemas(document), docBase);
      },
    });
    const document = encodedOnce(() => JSON.stringify(app.swagger()));
    app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => sendJsonText(reply, document()));
  },
  { name: 'open-api' },
);
