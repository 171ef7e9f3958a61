import { expect, test } from 'vitest';
import { createMadeOf } from '../src/events/made-of.js';

/** Tells how often it made something; remembers so many. */
function aMaker(max = 10) {
  let times = 0;
  const make = (source: { name: string }, ...parts: readonly unknown[]) => {
    times += 1;
    return `${source.name} ${parts.length}, made ${times}`;
  };
  return createMadeOf(make, { sizeMax: max * 100, sizeOf: () => 100 });
}

test('what is made of the same parts is made once', () => {
  const make = aMaker();
  const [link, counters] = [{ name: 'link' }, { clicks: 1 }];
  expect(make(link, counters)).toBe('link 1, made 1');
  expect(make(link, counters)).toBe('link 1, made 1');
  expect(make({ name: 'link' }, counters)).toBe('link 1, made 2');
});

test.each([
  ['another part', [{ clicks: 1 }]],
  ['one more', [undefined, undefined]],
  ['one less', []],
])('of %s it is made anew', (_what, parts) => {
  const make = aMaker();
  const link = { name: 'link' };
  expect(make(link, undefined)).toBe('link 1, made 1');
  expect(make(link, ...parts)).toBe(`link ${parts.length}, made 2`);
});

test('the latest are remembered', () => {
  const make = aMaker(2);
  const [one, two, three] = ['one', 'two', 'three'].map((name) => ({ name }));
  for (const source of [one, two, three]) make(source!);
  expect(make(two!)).toBe('two 0, made 2');
  expect(make(one!)).toBe('one 0, made 4');
});
