// Calls one route of the API again and again until it is stopped. In a process of its own, so that reading large answers does not delay
// the visits that the bench measures.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** What to call. `{n}` in the path and the body is replaced by the number of the call. */
export interface ApiCalls {
  readonly port: number;
  readonly token: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly callers: number;
  /** Pause of each caller between two calls. */
  readonly pauseMs: number;
}

/** The answer to a stop: how many calls were answered, and those that were not answered with 2xx by status. */
export interface ApiCallsReport {
  readonly answered: number;
  readonly refused: Readonly<Record<string, number>>;
}

const stop = new AbortController();
let next = Date.now() % 1_000_000_000;
let answered = 0;
const refused: Record<string, number> = {};

async function call({ port, token, method, path, body }: ApiCalls): Promise<void> {
  const number = String(next++);
  const answer = await fetch(`http://127.0.0.1:${port}${path.replaceAll('{n}', number)}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: body.replaceAll('{n}', number) }),
  });
  for await (const _chunk of answer.body ?? []);
  answered++;
  if (!answer.ok) refused[answer.status] = (refused[answer.status] ?? 0) + 1;
}

async function run(calls: ApiCalls): Promise<void> {
  const caller = async () => {
    while (!stop.signal.aborted) {
      await call(calls);
      await delay(calls.pauseMs);
    }
  };
  await Promise.all([once(stop.signal, 'abort'), ...Array.from({ length: calls.callers }, caller)]);
  process.send?.({ answered, refused } satisfies ApiCallsReport, () => process.exit(0));
}

process.on('message', (message: ApiCalls | 'stop') => {
  if (message === 'stop') stop.abort();
  else void run(message);
});
process.send?.({});
