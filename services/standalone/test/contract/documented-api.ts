import { EXAMPLE_REQUESTS, type ExampleRequest } from '@waymark/contract';
import { BROWSER, startWholeApi, type WholeApi } from './whole-api.js';

/** The parts of a JSON schema that the tests use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly propertyNames?: JsonSchema;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

interface JsonContent {
  readonly 'application/json'?: { readonly schema: JsonSchema };
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: JsonContent };
  readonly responses: Readonly<Record<string, { readonly content?: JsonContent }>>;
}

/** A route of the OpenAPI document, with a valid example request; the resources it names may not exist. */
export interface DocumentedRoute {
  readonly name: ExampleRequest['route'];
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  /** The response to a request that succeeds, if it is JSON. */
  readonly success: { readonly status: number; readonly schema: JsonSchema } | undefined;
  readonly example: ExampleRequest;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** The message of an error; empty for other responses. */
  readonly message: string;
}

/** A request in which a parameter may occur several times. */
export type SentRequest = Omit<ExampleRequest, 'query'> & {
  readonly query?: ExampleRequest['query'] | readonly (readonly [string, string])[];
};

/** The whole API, with a workspace whose rate limits no test reaches. */
export interface DocumentedApi {
  readonly api: WholeApi;
  readonly workspaceId: string;
  readonly routes: readonly DocumentedRoute[];
  /** Named schemas, which references point to. */
  readonly schemas: Readonly<Record<string, JsonSchema>>;
  /** Sends a request from a new address, with the kind of key that its route requires. */
  send(request: SentRequest, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<void>;
}

/** The body; of a stream, which does not end, only the first part. */
export async function bodyOf(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response.text();
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) return Buffer.from(chunk).toString();
  return '';
}

const MANY = 1_000_000;
export const DOMAIN = 'go.acme.com';

export async function startDocumentedApi(): Promise<DocumentedApi> {
  const api = await startWholeApi({ trustedProxies: ['127.0.0.1/32'] });
  const { workspace, apiKey, publishableKey } = await api.catalog.workspaces.create({
    ...{ name: 'Acme', slug: 'acme', plan: 'enterprise', domain: DOMAIN, programUrl: 'https://acme.com' },
  });
  await api.catalog.workspaces.update(workspace.id, { requestsPerMinute: MANY, analyticsPerSecond: MANY });
  const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
  };
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody, responses }]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const example = EXAMPLE_REQUESTS.find(({ route }) => route === name);
      if (example === undefined) throw new Error(`${name} has no example`);
      const body = requestBody?.content['application/json']?.schema;
      const [success] = Object.entries(responses).flatMap(([status, { content }]) => {
        const schema = content?.['application/json']?.schema;
        return status.startsWith('2') && schema !== undefined ? [{ status: Number(status), schema }] : [];
      });
      return { name: example.route, parameters, body, success, example };
    }),
  );
  let requests = 0;
  return {
    api,
    workspaceId: workspace.id,
    routes,
    schemas: document.components.schemas,
    async send({ route, params = {}, query = {}, body }, headers = {}) {
      requests += 1;
      const [method = '', path = ''] = route.split(' ');
      const target = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
      const key = route.endsWith('/client') ? publishableKey.token : apiKey.token;
      const response = await fetch(`${api.url}${target}?${new URLSearchParams(query as Record<string, string>)}`, {
        method,
        headers: {
          'user-agent': BROWSER,
          'x-forwarded-for': `203.${requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`,
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await bodyOf(response);
      const message = response.ok ? '' : (JSON.parse(text) as { error: { message: string } }).error.message;
      return { status: response.status, text, message };
    },
    close: () => api.close(),
  };
}
