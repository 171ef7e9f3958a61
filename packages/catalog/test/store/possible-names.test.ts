import { expect, it } from 'vitest';
import { checkPossible } from '../../src/store/write-context.js';

it.each([
  ['a\0b', 'invalid_format: externalId: must not contain a NUL character'],
  ['x'.repeat(3000), 'too_big: externalId: is too long'],
])('a name that cannot be stored is refused with the rule that it breaks', (name, message) => {
  expect(() => checkPossible({ kind: 'customer', scope: '1', name })).toThrow(message);
});
