import { EXAMPLE_REQUESTS, type ExampleRequest, exampleAnswer } from '@waymark/contract';

interface Operation {
  parameters?: { name: string; in: string; example?: unknown }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses?: Record<string, { content?: Record<string, { example?: unknown }> }>;
}

const REQUESTS = new Map<string, ExampleRequest>(EXAMPLE_REQUESTS.map((request) => [request.route, request]));

/** Adds an example request and an example response to each operation of the OpenAPI document that has one in `EXAMPLE_REQUESTS`. */
export function addExamples(paths: Readonly<Record<string, unknown>>): void {
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations as Record<string, Operation>)) {
      const request = REQUESTS.get(`${method.toUpperCase()} ${path}`);
      if (request !== undefined) addExample(operation, request);
    }
  }
}

function addExample({ parameters = [], requestBody, responses }: Operation, request: ExampleRequest): void {
  for (const parameter of parameters) {
    const value = (parameter.in === 'path' ? request.params : request.query)?.[parameter.name];
    if (value !== undefined) parameter.example = value;
  }
  const body = requestBody?.content['application/json'];
  if (body !== undefined && request.body !== undefined) body.example = request.body;
  const answer = exampleAnswer(request.route);
  const content = answer && responses?.[answer.status]?.content?.['application/json'];
  if (content !== undefined) content.example = answer?.body;
}
