import { setTimeout as delay } from 'node:timers/promises';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { waitFor } from '@waymark/test-kit';
import type { TwoApis } from '../../../services/standalone/test/promises/two-apis.js';

const AT_ONCE = 8;
const RETRY_MS = 100;
const LEAD_VALUE = 4900;

/** Clicks, leads and sales with a number each, of which every second one goes through the other process. */
export interface NumberedEvents {
  /** Resolves when so many have been recorded from now on. @throws the error of an event that was refused for good */
  progress(count: number): Promise<void>;
  /** Waits until all have been recorded. @throws the error of an event that was refused for good */
  finish(): Promise<void>;
  /** What ClickHouse has, compared with what was answered: all lists are to be empty. */
  compare(client: ClickHouseClient): Promise<{ readonly lost: string[]; readonly doubled: string[] }>;
  /** The longest time from the first attempt of a call to its success. */
  longestMs(): number;
}

/** A refusal after which callers do not repeat their request. */
class PermanentRefusal extends Error {}

/**
 * Repeats a call until it is answered with success, as callers do, with the same content.
 *
 * @throws PermanentRefusal when an answer is final
 */
async function untilAnswered<T>(call: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    try {
      const answer = await call();
      if (answer !== undefined) return answer;
    } catch (err) {
      if (err instanceof PermanentRefusal) throw err;
    }
    await delay(RETRY_MS);
  }
}

/** Starts to record `count` clicks, each with a lead and a sale, and repeats calls that fail. */
export function sendNumberedEvents(
  two: Pick<TwoApis, 'apis' | 'aClick'>,
  count: number,
  pauseMs: number,
): NumberedEvents {
  const clickIds = new Map<number, string>();
  let next = 0;
  let done = 0;
  let longestMs = 0;
  const apiOf = (number: number) => two.apis[number % 2 === 0 ? 0 : 1];

  async function timed<T>(call: () => Promise<T | undefined>): Promise<T> {
    const startedMs = performance.now();
    const answer = await untilAnswered(call);
    longestMs = Math.max(longestMs, performance.now() - startedMs);
    return answer;
  }

  async function post(number: number, path: string, body: object): Promise<true | undefined> {
    const { status } = await apiOf(number).call('POST', path, body);
    if (status >= 400 && status < 500 && status !== 429)
      throw new PermanentRefusal(`event ${number}, ${path}: ${status}`);
    return status === 200 ? true : undefined;
  }

  async function record(number: number): Promise<void> {
    const clickId = await timed(() => two.aClick(apiOf(number)));
    clickIds.set(number, clickId);
    const customerExternalId = `customer-${number}`;
    const lead = { clickId, eventName: 'Sign up', customerExternalId };
    await timed(() => post(number + 1, '/track/lead', lead));
    const sale = { customerExternalId, amount: LEAD_VALUE, invoiceId: `invoice-${number}` };
    await timed(() => post(number, '/track/sale', sale));
    done += 1;
  }

  const running = Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < count) {
        await record(next++);
        if (pauseMs > 0) await delay(pauseMs);
      }
    }),
  );

  // A test that fails before it waits for the events must not end with an unhandled rejection too.
  running.catch(() => undefined);

  async function storedNumbers(client: ClickHouseClient) {
    const column = async (query: string) => (await client.rows<[string]>({ query })).map(([value]) => value);
    const [clicks, leads, sales] = await Promise.all([
      column('SELECT click_id FROM click_events'),
      column(
        'SELECT external_id FROM lead_events AS e INNER JOIN (SELECT * FROM customers FINAL) AS c ON c.id = e.customer_id',
      ),
      column('SELECT invoice_id FROM sale_events'),
    ]);
    return { clicks, leads, sales };
  }

  return {
    async progress(more) {
      const goal = Math.min(count, done + more);
      const reached = waitFor(() => done >= goal, { what: `${more} more events`, timeoutMs: 120_000 });
      await Promise.race([reached, running.then(() => reached)]);
    },
    finish: () => running.then(() => undefined),
    async compare(client) {
      const stored = await storedNumbers(client);
      const numbers = Array.from({ length: count }, (_, number) => number);
      const expected = {
        clicks: numbers.map((number) => clickIds.get(number) ?? `click ${number}`),
        leads: numbers.map((number) => `customer-${number}`),
        sales: numbers.map((number) => `invoice-${number}`),
      };
      const kinds = ['clicks', 'leads', 'sales'] as const;
      return {
        lost: kinds.flatMap((kind) => {
          const found = new Set(stored[kind]);
          return expected[kind].filter((name) => !found.has(name));
        }),
        doubled: kinds.flatMap((kind) => {
          const seen = new Set<string>();
          return stored[kind].filter((name) => seen.has(name) || !seen.add(name));
        }),
      };
    },
    longestMs: () => longestMs,
  };
}
