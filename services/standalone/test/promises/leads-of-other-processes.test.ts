import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';

/** Leads that arrive in another process than the one that has just recorded their click, as behind a load balancer. */

const LEADS = 1_000;
const CONCURRENCY = 20;
const STOPPED_MS = 5_000;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis();
}, 180_000);
afterAll(() => two.close());

it('are recorded at once, even while the writer is stopped', async () => {
  const [one, other] = two.apis;
  const statuses = new Map<number, number>();
  let repeated = 0;
  let next = 0;
  const work = async () => {
    while (next < LEADS) {
      const number = next++;
      const clickId = await two.aClick(number % 2 === 0 ? one : other);
      const api = number % 2 === 0 ? other : one;
      const body = { clickId, eventName: 'Sign up', customerExternalId: `customer ${number}` };
      let { status, retryAfter } = await api.call('POST', '/track/lead', body);
      // On a busy machine the first process may have spooled the click.
      if (status === 500 && retryAfter > 0) {
        repeated += 1;
        await delay(1000 * retryAfter);
        ({ status, retryAfter } = await api.call('POST', '/track/lead', body));
      }
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  two.writer.kill('SIGSTOP');
  const resume = setTimeout(() => two.writer.kill('SIGCONT'), STOPPED_MS);
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  } finally {
    clearTimeout(resume);
    two.writer.kill('SIGCONT');
  }
  expect(Object.fromEntries(statuses)).toEqual({ 200: LEADS });
  // If leads had to wait for the writer, the first of each worker would be refused.
  expect(repeated).toBeLessThan(CONCURRENCY);
}, 120_000);
