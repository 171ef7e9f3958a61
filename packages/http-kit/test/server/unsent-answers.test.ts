import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { createUnsentAnswers } from '../../src/index.js';

/** An answer that is being sent, and the function that ends it. */
function anAnswer() {
  const raw = Object.assign(new EventEmitter(), { closed: false });
  const reply = { raw, request: { raw: { socket: Object.assign(new EventEmitter(), { destroyed: false }) } } };
  return { reply: reply as never, end: () => void raw.emit('close') };
}

const REFUSED = expect.objectContaining({ status: 429, retryAfterSeconds: 1 });

it('a workspace waits for its own answers, and for those of all only if it has some itself', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60, bytesAlwaysAllowed: 0 });
  const [first, second, third] = [anAnswer(), anAnswer(), anAnswer()];
  unsent.reserve('a', first.reply, 60);
  expect(() => unsent.check('a')).toThrow(REFUSED);
  unsent.reserve('b', second.reply, 39);
  expect(() => unsent.check('b')).not.toThrow();
  unsent.reserve('b', third.reply, 1);
  expect(() => unsent.check('b')).toThrow(REFUSED);
  expect(() => unsent.check('c')).not.toThrow();
  first.end();
  expect(() => unsent.check('a')).not.toThrow();
  expect(() => unsent.check('b')).not.toThrow();
});

it('an answer that would take too much memory beside the others of its workspace, or of all, is refused', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60, bytesAlwaysAllowed: 0 });
  unsent.reserve('a', anAnswer().reply, 40);
  expect(() => unsent.reserve('a', anAnswer().reply, 21)).toThrow(REFUSED);
  unsent.reserve('a', anAnswer().reply, 20);
  unsent.reserve('b', anAnswer().reply, 30);
  expect(() => unsent.reserve('b', anAnswer().reply, 11)).toThrow(REFUSED);
  unsent.reserve('b', anAnswer().reply, 10);
});

it('small answers of a workspace are not refused for the large ones of others', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60, bytesAlwaysAllowed: 10 });
  for (const large of ['a', 'b']) unsent.reserve(large, anAnswer().reply, 60);
  for (let answer = 0; answer < 5; answer++) unsent.reserve('c', anAnswer().reply, 2);
  expect(() => unsent.reserve('c', anAnswer().reply, 1)).toThrow(REFUSED);
});

it('the only answer of a workspace is never refused', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60, bytesAlwaysAllowed: 0 });
  unsent.reserve('a', anAnswer().reply, 1000);
  expect(() => unsent.reserve('b', anAnswer().reply, 1000)).not.toThrow();
});

it('an answer counts with the size that it has now, and not at all once it has ended', () => {
  const unsent = createUnsentAnswers({ bytesMax: 100, bytesPerWorkspaceMax: 60, bytesAlwaysAllowed: 0 });
  const { reply, end } = anAnswer();
  const other = anAnswer();
  const answer = unsent.reserve('a', reply, 60);
  answer.resize(20);
  unsent.reserve('a', other.reply, 40);
  expect(() => unsent.check('a')).toThrow(REFUSED);
  end();
  answer.resize(60);
  expect(() => unsent.check('a')).not.toThrow();
});

it('answers of a workspace may take 75 MB, and those of all 150 MB', () => {
  const unsent = createUnsentAnswers();
  unsent.reserve('a', anAnswer().reply, 74_999_999);
  expect(() => unsent.check('a')).not.toThrow();
  unsent.reserve('a', anAnswer().reply, 1);
  expect(() => unsent.check('a')).toThrow(REFUSED);
  unsent.reserve('b', anAnswer().reply, 74_999_999);
  expect(() => unsent.check('b')).not.toThrow();
  unsent.reserve('c', anAnswer().reply, 1);
  expect(() => unsent.check('b')).toThrow(REFUSED);
});
