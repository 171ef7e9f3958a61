import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonSchema } from './documented-api.js';
import { startWholeApi, type WholeApi } from './whole-api.js';

// `/docs` and `/openapi.json` are all that many callers read. A field without a description is documented by its name alone.

type Described = JsonSchema & { readonly description?: string };
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly description?: string; readonly schema: Described }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

let api: WholeApi;
let document: Document;

beforeAll(async () => {
  api = await startWholeApi();
  document = (await (await fetch(`${api.url}/openapi.json`)).json()) as Document;
});
afterAll(() => api.close());

/** Paths of the fields without a description. References lead to schemas whose fields are tested by themselves. */
function undescribed(schema: JsonSchema | undefined, path: string): string[] {
  if (schema === undefined) return [];
  const fields = Object.entries(schema.properties ?? {}) as [string, Described][];
  const isMissing = ({ description = '', $ref }: Described) => description.trim() === '' && $ref === undefined;
  return [
    ...fields.filter(([, field]) => isMissing(field)).map(([name]) => `${path}.${name}`),
    ...fields.flatMap(([name, field]) => undescribed(field, `${path}.${name}`)),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((one) =>
      undescribed(one, path),
    ),
    ...undescribed(schema.items, `${path}[]`),
    ...(typeof schema.additionalProperties === 'object' ? undescribed(schema.additionalProperties, `${path}.*`) : []),
  ];
}

function operations(): [string, Operation][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );
}

const contents = (part: Content | undefined) => Object.values(part?.content ?? {});

it('the document has the routes and the objects', () => {
  expect(operations().map(([route]) => route)).toContain('get /events');
  expect(Object.keys(document.components.schemas)).toContain('Link');
});

it('every parameter has a description', () => {
  const missing = operations().flatMap(([route, { parameters = [] }]) =>
    parameters
      .filter(({ description, schema }) => (description ?? schema.description ?? '').trim() === '')
      .map(({ name }) => `${route} ${name}`),
  );
  expect(missing).toEqual([]);
});

it('every field of a body, of an answer and of a named object has a description', () => {
  const missing = [
    ...operations().flatMap(([route, { requestBody, responses }]) => [
      ...contents(requestBody).flatMap(({ schema }) => undescribed(schema, route)),
      ...Object.entries(responses).flatMap(([status, response]) =>
        contents(response).flatMap(({ schema }) => undescribed(schema, `${route} ${status}`)),
      ),
    ]),
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => undescribed(schema, name)),
  ];
  expect([...new Set(missing)]).toEqual([]);
});
