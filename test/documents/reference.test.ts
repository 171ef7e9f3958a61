import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../services/standalone/test/contract/documented-api.js';
import { startWholeApi } from '../../services/standalone/test/contract/whole-api.js';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: JsonSchema }[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const FOLDER = 'docs/reference';
const pages = readdirSync(FOLDER)
  .map((name) => readFileSync(join(FOLDER, name), 'utf8'))
  .join('\n');
/** What the pages write as code: routes, names of parameters and fields, examples. */
const code = [...pages.matchAll(/```[\s\S]*?```|`[^`]+`/g)].map(([text]) => text).join('\n');
const words = new Set(code.match(/[A-Za-z_]\w*/g));
/** Routes as the pages write them: `GET /links`, and several methods of a path as `GET`, `POST /tags` or `GET|POST /utm`. */
const routes = new Set(
  [...pages.matchAll(/((?:`[A-Z]+`, )*)`([A-Z]+(?:\|[A-Z]+)*) (\/[\w/{}.-]*)/g)].flatMap(([, others = '', own, path]) =>
    [...(others.match(/[A-Z]+/g) ?? []), ...(own ?? '').split('|')].map((method) => `${method} ${path}`),
  ),
);
/** Fields of `registeredDomain`, which is always null. */
const OF_NULL = new Set(['autoRenewalDisabledAt', 'renewalFee']);

let document: OpenApi;
beforeAll(async () => {
  const api = await startWholeApi();
  try {
    document = (await (await fetch(`${api.url}/openapi.json`)).json()) as OpenApi;
  } finally {
    await api.close();
  }
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
  );

/** The names of all fields of a schema, at every depth. */
function fieldsOf(schema: JsonSchema | undefined, seen = new Set<JsonSchema>()): string[] {
  if (schema === undefined || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, anyOf = [], oneOf = [], allOf = [], items, properties = {}, additionalProperties } = schema;
  const named = $ref === undefined ? [] : [document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]];
  const more = typeof additionalProperties === 'object' ? [additionalProperties] : [];
  return [
    ...Object.keys(properties),
    ...[...named, ...anyOf, ...oneOf, ...allOf, items, ...more, ...Object.values(properties)].flatMap((one) =>
      fieldsOf(one, seen),
    ),
  ];
}

const schemasOf = ({ content = {} }: Content) => Object.values(content).map(({ schema }) => schema);

/** The names that a route has and the reference lacks. */
function missing(namesOf: (operation: Operation) => readonly string[]): string[] {
  return operations().flatMap(({ route, operation }) =>
    namesOf(operation)
      .filter((name) => !words.has(name) && !OF_NULL.has(name))
      .map((name) => `${route}: ${name}`),
  );
}

describe('docs/reference has', () => {
  test('every route', () => {
    const documented = operations().map(({ route }) => route);
    expect(documented.length).toBeGreaterThan(90);
    expect(documented.filter((route) => !routes.has(route))).toEqual([]);
  });

  test('every parameter', () => {
    expect(missing(({ parameters = [] }) => parameters.map(({ name }) => name))).toEqual([]);
  });

  test('every field of a body', () => {
    expect(missing(({ requestBody = {} }) => schemasOf(requestBody).flatMap((schema) => fieldsOf(schema)))).toEqual([]);
  });

  test('every field of an answer', () => {
    const ofAnswers = ({ responses = {} }: Operation) =>
      Object.values(responses).flatMap((response) => schemasOf(response).flatMap((schema) => fieldsOf(schema)));
    expect(missing(ofAnswers)).toEqual([]);
  });
});
