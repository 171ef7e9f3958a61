import { expect, test } from 'vitest';
import type { EventPageRow } from '../../src/events/event-text.js';
import { reusedTexts } from '../../src/export/reused-texts.js';

const START_MS = Date.parse('2026-11-25T10:00:00.000Z');

/** A row that old, of a link and, perhaps, of a customer. */
function row(ageMs: number, link: string, customer?: string): EventPageRow {
  const timestamp = new Date(START_MS - ageMs).toISOString();
  return customer === undefined
    ? ['id', timestamp, link, '{}', '']
    : ['id', timestamp, link, '{}', '', 'Sale', customer];
}

/** Texts with the number of their look-up; the link `gone` has none. Also the rows of each look-up. */
function lookUps() {
  const asked: string[][] = [];
  let nowMs = START_MS;
  const textsOf = reusedTexts(
    async (rows) => {
      asked.push(rows.map(([, , link, , , , customer = '']) => link + customer));
      const links = rows.filter(([, , link]) => link !== 'gone').map(([, , link]) => [link, asked.length] as const);
      return {
        links: new Map(links.map(([link, call]) => [link, { link: `${link} of ${call}`, deprecated: '' }])),
        customers: new Map(rows.flatMap(([, , , , , , customer]) => (customer ? [[customer, `${asked.length}`]] : []))),
        erased: undefined,
      };
    },
    () => nowMs,
  );
  return { asked, textsOf, later: (ms: number) => (nowMs += ms) };
}

const OLD_MS = 3_600_000;

test('a link and a customer are looked up once for many rows, also a link that is gone', async () => {
  const { asked, textsOf } = lookUps();
  await textsOf([row(OLD_MS, 'a'), row(OLD_MS, 'gone'), row(OLD_MS, 'a')]);
  const { links, customers } = await textsOf([
    row(OLD_MS, 'a'),
    row(OLD_MS, 'b'),
    row(OLD_MS, 'gone'),
    row(OLD_MS, 'a', 'c'),
  ]);
  expect(asked).toEqual([
    ['a', 'gone', 'a'],
    ['b', 'ac'],
  ]);
  expect([links.get('b')?.link, links.get('gone'), customers.get('c')]).toEqual(['b of 2', undefined, '2']);
});

test('a change shows after a second', async () => {
  const { textsOf, later } = lookUps();
  await textsOf([row(OLD_MS, 'a')]);
  later(999);
  expect((await textsOf([row(OLD_MS, 'a')])).links.get('a')?.link).toBe('a of 1');
  later(1);
  expect((await textsOf([row(OLD_MS, 'a')])).links.get('a')?.link).toBe('a of 2');
});

test('a change shows also after the clock was set back', async () => {
  const { textsOf, later } = lookUps();
  await textsOf([row(OLD_MS, 'a')]);
  later(-OLD_MS / 2);
  expect((await textsOf([row(OLD_MS, 'a')])).links.get('a')?.link).toBe('a of 2');
});

test('rows of the last minute, whose counters may be changing, are looked up each time', async () => {
  const { textsOf } = lookUps();
  await textsOf([row(OLD_MS, 'a')]);
  expect((await textsOf([row(59_000, 'a')])).links.get('a')?.link).toBe('a of 2');
  expect((await textsOf([row(OLD_MS, 'a')])).links.get('a')?.link).toBe('a of 1');
});
