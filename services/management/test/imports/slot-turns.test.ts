import { expect, it } from 'vitest';
import { createSlotTurns } from '../../src/imports/slot-turns.js';

/** Turns of a slot that counts how often it is lent. */
function turnsOf() {
  const state = { nowMs: 0, lent: 0 };
  const slot = {
    async lend<T>(work: () => Promise<T>): Promise<T> {
      state.lent++;
      return work();
    },
  };
  return { state, turns: createSlotTurns(slot, new AbortController().signal, () => state.nowMs) };
}

it('a slot is kept during short pauses, and lent during a long one', async () => {
  const { state, turns } = turnsOf();
  let pauses = 0;
  const pause = async () => void pauses++;
  for (let count = 0; count < 3; count++) await turns.during(4_000, pause);
  expect([pauses, state.lent]).toEqual([3, 0]);
  await turns.during(5_000, pause);
  expect([pauses, state.lent]).toEqual([4, 1]);
});

it('it is lent after a minute of short pauses and requests, and then kept again', async () => {
  const { state, turns } = turnsOf();
  const request = async () => {
    state.nowMs += 4_000;
    return 'answer';
  };
  for (let count = 0; count < 7; count++) {
    await turns.during(4_000, async () => undefined);
    expect(await turns.duringRequest(request)).toBe('answer');
  }
  await turns.during(4_000, async () => undefined);
  expect(state.lent).toBe(0);
  expect(await turns.duringRequest(request)).toBe('answer');
  expect(await turns.duringRequest(request)).toBe('answer');
  expect(state.lent).toBe(1);
  await turns.during(4_000, async () => undefined);
  expect(state.lent).toBe(1);
});

it('it is offered to others after ten minutes, also if the import never waits', async () => {
  const { state, turns } = turnsOf();
  state.nowMs = 599_000;
  await turns.offer();
  expect(state.lent).toBe(0);
  state.nowMs = 601_000;
  await turns.offer();
  await turns.offer();
  expect(state.lent).toBe(1);
  state.nowMs += 601_000;
  await turns.duringRequest(async () => undefined);
  expect(state.lent).toBe(2);
});

it('the error of a request is thrown with the slot taken again', async () => {
  const { state, turns } = turnsOf();
  state.nowMs = 601_000;
  await expect(turns.duringRequest(() => Promise.reject(new Error('reset')))).rejects.toThrow('reset');
  expect(state.lent).toBe(1);
});
