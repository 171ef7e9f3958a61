import { setTimeout as delay } from 'node:timers/promises';
import type { TwoApis } from './two-apis.js';

const PAUSE_MS = 20;

/** Visits a link until it is stopped, and returns how long each visit took, sorted; -1 = not redirected. */
export function visitContinuously(visit: () => Promise<string | undefined>) {
  let isStopped = false;
  const latencies: number[] = [];
  const running = (async () => {
    while (!isStopped) {
      const startedMs = performance.now();
      const location = await visit().catch(() => undefined);
      latencies.push(location === undefined ? -1 : performance.now() - startedMs);
      await delay(PAUSE_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await running;
      return latencies.toSorted((one, other) => one - other);
    },
  };
}

export const p99 = (sorted: readonly number[]) => sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;

/** Whether both processes answer `/readyz` with success. */
export async function isReady({ apis }: TwoApis): Promise<boolean> {
  const answers = await Promise.all(apis.map(({ url }) => fetch(`${url}/readyz`)));
  return answers.every(({ ok }) => ok);
}
