import {
  EXAMPLE_TIME,
  eventIdTime,
  exampleEventId,
  exampleId,
  RESOURCE_PREFIX,
  type ResourceKind,
} from '@waymark/contract';

const KIND_OF = new Map<string, ResourceKind>(
  Object.entries(RESOURCE_PREFIX).map(([kind, prefix]) => [prefix, kind as ResourceKind]),
);
const RESOURCE_ID = /"([a-z]+_)[0-9A-Za-z]{11}"/g;
const EVENT_ID = /"[0-9A-Za-z]{16}"/g;
const TIME = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g;
const SECRET = /"whsec_[0-9a-f]{32}"/g;
const EXAMPLE_SECRET = 'whsec_0123456789abcdef0123456789abcdef';
const DAY_MS = 86_400_000;

/** Maps the ids of a test run to the ids of the examples, which are assigned in the order in which responses contain them. */
export class ExampleNames {
  readonly #exampleOf = new Map<string, string>();
  readonly #shown = new Map<string, number>();

  /** Maps a text of this run that is not an id. */
  is(actual: string, example: string): void {
    this.#exampleOf.set(actual, example);
  }

  #nextPlace(sort: string): number {
    const place = (this.#shown.get(sort) ?? 0) + 1;
    this.#shown.set(sort, place);
    return place;
  }

  #example(actual: string, sort: string, create: (place: number) => string): string {
    const known = this.#exampleOf.get(actual);
    if (known !== undefined) return known;
    const example = create(this.#nextPlace(sort));
    this.#exampleOf.set(actual, example);
    return example;
  }

  /** A response of this run, with the ids, times and secrets of the examples. */
  toExample(answer: unknown): unknown {
    let text = JSON.stringify(answer)
      .replace(RESOURCE_ID, (quoted, prefix: string) => {
        const kind = KIND_OF.get(prefix);
        return kind ? `"${this.#example(quoted.slice(1, -1), kind, (place) => exampleId(kind, place))}"` : quoted;
      })
      .replace(EVENT_ID, (quoted) => {
        const time = eventIdTime(quoted.slice(1, -1)) ?? 0;
        if (Math.abs(Date.now() - time) > DAY_MS) return quoted;
        return `"${this.#example(quoted.slice(1, -1), 'event', exampleEventId)}"`;
      })
      .replace(TIME, `"${EXAMPLE_TIME}"`)
      .replace(SECRET, `"${EXAMPLE_SECRET}"`);
    // Ids and names inside of URLs.
    for (const [actual, example] of this.#exampleOf) text = text.replaceAll(actual, example);
    return JSON.parse(text);
  }

  /** The request of an example, with the ids of this run. */
  toActual<T>(request: T): T {
    let text = JSON.stringify(request);
    for (const [actual, example] of this.#exampleOf) text = text.replaceAll(example, actual);
    return JSON.parse(text);
  }
}
