import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createUnsentAnswers } from '../../src/events/unsent-answers.js';

/** An answer that is being sent, and the function that ends it. */
function anAnswer() {
  const raw = Object.assign(new EventEmitter(), { closed: false });
  const reply = { raw, request: { raw: { socket: Object.assign(new EventEmitter(), { destroyed: false }) } } };
  return { reply: reply as never, end: () => void raw.emit('close') };
}

const REFUSED = expect.objectContaining({ status: 429, retryAfterSeconds: 1 });

it('a workspace waits for its own answers, and for those of all only if it has some itself', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60 });
  const [first, second, third] = [anAnswer(), anAnswer(), anAnswer()];
  unsent.add('a', first.reply, 60);
  expect(() => unsent.check('a')).toThrow(REFUSED);
  unsent.add('b', second.reply, 39);
  expect(() => unsent.check('b')).not.toThrow();
  unsent.add('b', third.reply, 1);
  expect(() => unsent.check('b')).toThrow(REFUSED);
  expect(() => unsent.check('c')).not.toThrow();
  first.end();
  expect(() => unsent.check('a')).not.toThrow();
  expect(() => unsent.check('b')).not.toThrow();
});
