import { expect, test } from 'vitest';
import { createWorkspaceMemory, kindKey } from '../src/workspace-memory.js';

function aMemory() {
  let nowMs = 0;
  const memory = createWorkspaceMemory(() => nowMs);
  return { memory, pass: (ms: number) => (nowMs += ms) };
}

test('removed links are believed for a second from when they were asked for', () => {
  const { memory, pass } = aMemory();
  const none = { hasRemovedLinks: false, removedLinks: [] };
  pass(300);
  memory.removedLinks.set('ws', none, 0);
  pass(699);
  expect(memory.removedLinks.get('ws')).toBe(none);
  pass(1);
  expect(memory.removedLinks.get('ws')).toBeUndefined();
});

test('removed links that are too many to be listed stay so', () => {
  const { memory, pass } = aMemory();
  memory.removedLinks.set('ws', { hasRemovedLinks: true }, 0);
  pass(365 * 86_400_000);
  expect(memory.removedLinks.get('ws')).toEqual({ hasRemovedLinks: true });
});

test('the number of events is believed for ten minutes, of each workspace and kind its own', () => {
  const { memory, pass } = aMemory();
  memory.eventsEver.set(kindKey('ws', 'clicks'), 5, 0);
  expect(memory.eventsEver.get(kindKey('ws', 'leads'))).toBeUndefined();
  expect(memory.eventsEver.get(kindKey('other', 'clicks'))).toBeUndefined();
  pass(599_999);
  expect(memory.eventsEver.get(kindKey('ws', 'clicks'))).toBe(5);
  pass(1);
  expect(memory.eventsEver.get(kindKey('ws', 'clicks'))).toBeUndefined();
});
