import { expect, it } from 'vitest';
import { createUploadSlots } from '../../src/imports/upload-slots.js';

it('a workspace sends two files at the same time, and the process receives eight', () => {
  const slots = createUploadSlots();
  const free = slots.take('a');
  slots.take('a');
  expect(() => slots.take('a')).toThrow('receiving 2 files of this workspace already');
  for (const workspaceId of ['b', 'b', 'c', 'c', 'd', 'd']) slots.take(workspaceId);
  expect(() => slots.take('e')).toThrow('receiving 8 files already');
  expect(slots.count()).toBe(8);
  free();
  slots.take('e');
  expect(() => slots.take('a')).toThrow('receiving 8 files already');
});

it('a slot that is freed twice is one slot', () => {
  const slots = createUploadSlots();
  const free = slots.take('a');
  slots.take('a');
  free();
  free();
  expect(slots.count()).toBe(1);
  slots.take('a');
  expect(() => slots.take('a')).toThrow('receiving 2 files of this workspace already');
});
