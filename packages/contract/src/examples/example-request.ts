/** An example request for a route. */
export interface ExampleRequest {
  /** Method and path as in the OpenAPI document: `PATCH /links/{linkId}`. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The response to an example request, with example ids and times. `body` is absent when the response is not JSON. */
export interface ExampleAnswer {
  readonly status: number;
  readonly body?: unknown;
}
