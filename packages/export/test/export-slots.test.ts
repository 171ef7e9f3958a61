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

test('a workspace has ten slots for downloads, besides those for exports', () => {
  const slots = createExportSlots();
  const [first] = Array.from({ length: 10 }, () => slots.takeDownload('a'));
  expect(() => slots.takeDownload('a')).toThrow('has 10 downloads open already');
  slots.take('a');
  slots.takeDownload('b');
  first?.free();
  first?.free();
  slots.takeDownload('a');
  expect(() => slots.takeDownload('a')).toThrow('has 10 downloads open already');
});
