import { expect, test } from 'vitest';
import { forEachYielding, mapYielding } from '../../src/index.js';

const ITEM_MS = 2;

function workFor(milliseconds: number): void {
  const endMs = performance.now() + milliseconds;
  while (performance.now() < endMs);
}

test('other requests have a turn at least every five milliseconds and an item', async () => {
  let turn = 0;
  let isDone = false;
  const takeTurn = () => {
    turn += 1;
    if (!isDone) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  const turns: number[] = [];
  await forEachYielding(Array.from({ length: 50 }), () => {
    workFor(ITEM_MS);
    turns.push(turn);
  });
  isDone = true;
  const itemsByTurn = [...new Set(turns)].map((one) => turns.filter((other) => other === one).length);
  expect(Math.max(...itemsByTurn)).toBeLessThanOrEqual(3);
});

test('results are in the order of the items', async () => {
  const items = Array.from({ length: 30 }, (_none, index) => index);
  const doubled = await mapYielding(items, (item) => {
    workFor(1);
    return 2 * item;
  });
  expect(doubled).toEqual(items.map((item) => 2 * item));
});
