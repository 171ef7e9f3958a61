/** A request that shows how a route is used. */
export interface ExampleRequest {
  /** As the OpenAPI document names it: `PATCH /links/{linkId}`. */
  readonly route: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** What a route answered, with the ids and times of the examples. `body` is absent where the answer is no JSON. */
export interface ExampleAnswer {
  readonly status: number;
  readonly body?: unknown;
}
