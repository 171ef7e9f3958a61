import { expect, test } from 'vitest';
import { createExportSlots } from '../src/export-slots.js';

test('a workspace has two slots, and a slot that is freed twice is one free slot', () => {
  const slots = createExportSlots();
  const first = slots.take('a');
  slots.take('a');
  expect(() => slots.take('a')).toThrow('runs 2 exports already');
  slots.take('b');
  first.free();
  first.free();
  slots.take('a');
  expect(() => slots.take('a')).toThrow('runs 2 exports already');
});
