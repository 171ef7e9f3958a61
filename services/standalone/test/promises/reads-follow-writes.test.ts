import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';
import { ALL_ACTIONS, type Step, WrittenWorld } from './written-world.js';

/** What an answer of success said is in every read that starts after it, through the process that answered and through the other. */

const STEPS = 100;
/** A slow machine takes fewer of them. */
const STEPS_MS_MAX = 30_000;
/** Longer than a read takes: a write that does not wait for the other processes' acknowledgement fails the test. */
const HEARD_AFTER_MS = 25;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis({ invalidationDelayMs: HEARD_AFTER_MS });
}, 180_000);
afterAll(() => two.close());

const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom(...ALL_ACTIONS),
  process: fc.constantFrom(0, 1),
  pick: fc.nat(11),
});

it('every read shows what was written, in random sequences of writes over two processes', {
  timeout: 180_000,
}, async () => {
  const world = new WrittenWorld(two);
  // One long sequence: what is there grows with it. It is not made shorter on failure, because the stores are not made anew.
  const sequence = fc.array(step, { minLength: STEPS, maxLength: STEPS, size: 'max' });
  const settings = { numRuns: 1, endOnFailure: true } as const;
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      const untilMs = performance.now() + STEPS_MS_MAX;
      for (const one of steps) if (performance.now() < untilMs) await world.take(one);
    }),
    settings,
  );
});

it('a revoked key is refused by the other process at once, though it was just accepted there', async () => {
  const [first, second] = two.apis;
  for (let round = 0; round < 5; round++) {
    const issued = await two.withCatalog(({ keys }) =>
      keys.create({ workspaceId: two.workspaceId, name: 'Key', kind: 'secret', role: 'owner', scopes: [] }),
    );
    for (const api of [first, second])
      expect((await api.call('GET', '/tags', undefined, issued.token)).status).toBe(200);
    await two.withCatalog(({ keys }) => keys.revoke(two.workspaceId, issued.record.id));
    for (const api of [second, first])
      expect((await api.call('GET', '/tags', undefined, issued.token)).status).toBe(401);
  }
});
