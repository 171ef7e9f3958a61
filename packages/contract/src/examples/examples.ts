import { EXAMPLE_ANSWERS } from './answers.js';
import { EVENT_REQUESTS } from './event-requests.js';
import type { ExampleAnswer, ExampleRequest } from './example-request.js';
import { LINK_REQUESTS } from './link-requests.js';
import { PROGRAM_REQUESTS } from './program-requests.js';

/** One request for each route, in an order in which all of them succeed in a workspace with the domain `go.acme.com`. */
export const EXAMPLE_REQUESTS: readonly ExampleRequest[] = [...LINK_REQUESTS, ...EVENT_REQUESTS, ...PROGRAM_REQUESTS];

/** The recorded response to the example request of a route, such as `GET /links`; undefined for an unknown route. */
export function exampleAnswer(route: string): ExampleAnswer | undefined {
  return EXAMPLE_ANSWERS[route];
}
