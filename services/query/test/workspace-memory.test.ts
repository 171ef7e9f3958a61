import { expect, test } from 'vitest';
import { createWorkspaceMemory, kindKey } from '../src/workspace-memory.js';

function aMemory() {
  let nowMs = 0;
  const memory = createWorkspaceMemory(
    () => nowMs,
    () => true,
  );
  return { memory, pass: (ms: number) => (nowMs += ms) };
}

const NONE = { hasRemovedLinks: false, removedLinks: [] };

function removal(table: string, isRemoved: boolean) {
  const record = { table, workspaceId: 'ws', id: 'link_1', version: 2, isRemoved };
  return { names: [], records: [record], counted: [] };
}

test('removed links are believed for a second from when they were asked for', () => {
  const { memory, pass } = aMemory();
  const remember = memory.removedLinks.asked('ws');
  pass(300);
  remember(NONE);
  pass(699);
  expect(memory.removedLinks.get('ws')).toBe(NONE);
  pass(1);
  expect(memory.removedLinks.get('ws')).toBeUndefined();
});

test('removed links that are too many to be listed stay so', () => {
  const { memory, pass } = aMemory();
  memory.removedLinks.asked('ws')({ hasRemovedLinks: true });
  pass(365 * 86_400_000);
  expect(memory.removedLinks.get('ws')).toEqual({ hasRemovedLinks: true });
});

test('the number of events is believed for ten minutes, of each workspace and kind its own', () => {
  const { memory, pass } = aMemory();
  memory.eventsEver.asked(kindKey('ws', 'clicks'))(5);
  expect(memory.eventsEver.get(kindKey('ws', 'leads'))).toBeUndefined();
  expect(memory.eventsEver.get(kindKey('other', 'clicks'))).toBeUndefined();
  pass(599_999);
  expect(memory.eventsEver.get(kindKey('ws', 'clicks'))).toBe(5);
  pass(1);
  expect(memory.eventsEver.get(kindKey('ws', 'clicks'))).toBeUndefined();
});

test('which links are removed is asked again once one of the workspace was', () => {
  const { memory } = aMemory();
  for (const workspaceId of ['ws', 'other']) memory.removedLinks.asked(workspaceId)(NONE);
  for (const change of [removal('links', false), removal('tags', true)]) memory.changed(change);
  expect(memory.removedLinks.get('ws')).toBe(NONE);
  memory.changed(removal('links', true));
  expect(memory.removedLinks.get('ws')).toBeUndefined();
  expect(memory.removedLinks.get('other')).toBe(NONE);
});

test('what was asked before a removal is not kept after it, nor anything when changes may have been missed', () => {
  const { memory } = aMemory();
  const remember = memory.removedLinks.asked('ws');
  memory.changed(removal('links', true));
  remember(NONE);
  expect(memory.removedLinks.get('ws')).toBeUndefined();
  memory.removedLinks.asked('ws')(NONE);
  memory.missed();
  expect(memory.removedLinks.get('ws')).toBeUndefined();
});
