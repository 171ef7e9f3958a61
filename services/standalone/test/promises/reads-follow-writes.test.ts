import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTwoApis, type TwoApis } from './two-apis.js';
import { type Action, ALL_ACTIONS, type Step, WrittenWorld } from './written-world.js';

/** Every read that starts after a successful response shows the write, through the process that answered and through the other one. */

/** How often each action is taken that needs something to exist. */
const TIMES = 2;
/** Longer than a read takes: a write that does not wait for the other processes' acknowledgement fails the test. */
const INVALIDATION_DELAY_MS = 25;
let two: TwoApis;

beforeAll(async () => {
  two = await startTwoApis({ invalidationDelayMs: INVALIDATION_DELAY_MS });
}, 180_000);
afterAll(() => two.close());

const place = { process: fc.constantFrom(0, 1), pick: fc.nat(11) };
const stepOf = (action: Action): fc.Arbitrary<Step> => fc.record({ action: fc.constant(action), ...place });
const inAnyOrder = <T>(list: readonly T[]) =>
  fc.shuffledSubarray([...list], { minLength: list.length, maxLength: list.length });
const repeated = (actions: readonly Action[], times: number) => Array.from({ length: times }, () => actions).flat();
const CREATE = ALL_ACTIONS.filter((action) => action.startsWith('create'));
const OTHERS = ALL_ACTIONS.filter((action) => !CREATE.includes(action));
/** First more of each kind is created than is removed later, so that every action has a target. */
const sequence = fc
  .tuple(inAnyOrder(repeated(CREATE, TIMES + 1)), inAnyOrder([...CREATE, ...repeated(OTHERS, TIMES)]))
  .chain(([first, later]) => fc.tuple(...[...first, ...later].map(stepOf)));

it('every read shows all earlier writes, in a random sequence of writes through two processes', {
  timeout: 180_000,
}, async () => {
  const world = new WrittenWorld(two);
  const taken = new Set<Action>();
  // Shrinking is disabled: the steps build on the data of earlier ones, and the stores are not created again for each run.
  const settings = { numRuns: 1, endOnFailure: true } as const;
  await fc.assert(
    fc.asyncProperty(sequence, async (steps) => {
      for (const one of steps) if (await world.take(one)) taken.add(one.action);
    }),
    settings,
  );
  expect(ALL_ACTIONS.filter((action) => !taken.has(action))).toEqual([]);
});

it('a revoked key is rejected at once by a process that has just accepted it', async () => {
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
