/** The parts of the OpenAPI document that the documentation pages read. */

/** Security scheme of the routes that web pages call, with a publishable key. */
export const PUBLISHABLE_KEY = 'publishableKey';

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface Content {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

type ContentByType = Readonly<Record<string, Content>>;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly description?: string;
  readonly example?: unknown;
}

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: ContentByType };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: ContentByType }>>;
}

export interface Document {
  readonly info: { readonly title: string };
  readonly servers?: readonly { readonly url: string }[];
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, JsonSchema>> };
}

/** The name of the schema that a `$ref` points to. */
export function referenceName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** The content of a body or a response, in its first content type. Only responses that are files have several. */
export function contentOf(part: { readonly content?: ContentByType } | undefined): Content | undefined {
  return Object.values(part?.content ?? {})[0];
}
