import { formatResourceId } from '@waymark/contract';
import { beforeEach, expect, it } from 'vitest';
import { createErasedPeople, type ErasedPeopleDeps } from '../../src/erasures/erased-people.js';
import { createSubjectHash } from '../../src/erasures/subject-hash.js';
import type { ErasureRecord } from '../../src/model/job-record-schemas.js';

const WORKSPACE = formatResourceId('workspace', '7');
const [KEY, OTHER_KEY] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)] as const;
const ofKey = createSubjectHash(KEY, []);
const customer = (number: number) => formatResourceId('customer', String(number));
const change = (number: number) => ({
  ...{ names: [], counted: [], isRecounted: false },
  records: [
    { table: 'erasures', workspaceId: WORKSPACE, id: formatResourceId('erasure', String(number)), version: 1 },
  ].map((record) => ({ ...record, isRemoved: false })),
});

let stored: Map<string, { version: number; record: ErasureRecord }>;
let reads: string[];
let nowMs: number;
let isSubscribed: boolean;
/** Awaited before each answer. */
let before: () => Promise<void>;

/** Stores an erasure, which has the customer of the same number. */
function store(number: number, version: number, fields: Partial<ErasureRecord> = {}): void {
  const time = '2026-11-29T00:00:00.000Z';
  const record: ErasureRecord = {
    ...{ id: formatResourceId('erasure', String(number)), workspaceId: WORKSPACE, createdAt: time, updatedAt: time },
    ...{ mode: 'anonymise', status: 'accepted', subjectHash: null, customerIds: [customer(number)], clickIds: [] },
    ...{ batch: null, events: 0, clicks: 0, startedAt: null, erasedAt: null },
    ...fields,
  };
  stored.set(String(number), { version, record });
}

function reader(subjects = ofKey) {
  const deps: ErasedPeopleDeps = {
    async *versions() {
      reads.push('versions');
      const page = [...stored].map(([number, { version }]) => ['7', number, String(version)] as const);
      await before();
      yield page;
    },
    async read(_workspace, numbers) {
      reads.push(numbers.join(' '));
      await before();
      return numbers.flatMap((number) => stored.get(number) ?? []);
    },
    ...{ subjects, isSubscribed: () => isSubscribed, now: () => nowMs },
  };
  return createErasedPeople(deps);
}

beforeEach(() => {
  stored = new Map();
  reads = [];
  nowMs = 1_000_000;
  isSubscribed = true;
  before = async () => undefined;
});

it('reads after a change only the erasure that has changed', async () => {
  store(1, 5);
  store(2, 6);
  const people = reader();
  expect((await people.current())?.modeOfId(WORKSPACE, customer(1))).toBe('anonymise');
  expect(reads).toEqual(['versions', '1 2']);

  store(2, 7, { mode: 'delete', clickIds: ['click'] });
  store(3, 8);
  people.onChange(change(2));
  people.onChange(change(3));
  const now = await people.current();
  expect(reads.slice(2)).toEqual(['2 3']);
  expect([2, 3].map((number) => now?.modeOfId(WORKSPACE, customer(number)))).toEqual(['delete', 'anonymise']);
  expect(now?.modeOfClickId(WORKSPACE, 'click')).toBe('delete');
  await people.current();
  expect(reads).toHaveLength(3);
});

it('reads after a gap, and after a minute, only erasures whose versions differ, and drops those that are not listed', async () => {
  for (const number of [1, 2, 3]) store(number, 5);
  const people = reader();
  await people.current();
  store(1, 6, { mode: 'delete' });
  stored.delete('3');
  people.onGap();
  const now = await people.current();
  expect(reads.slice(2)).toEqual(['versions', '1']);
  expect([1, 2, 3].map((number) => now?.modeOfId(WORKSPACE, customer(number)))).toEqual([
    'delete',
    'anonymise',
    undefined,
  ]);
  nowMs += 60_000;
  await people.current();
  expect(reads.slice(4)).toEqual(['versions']);
  stored.clear();
  people.onGap();
  expect(await people.current()).toBeUndefined();
});

it('an erasure whose read has failed is read again', async () => {
  store(1, 5);
  const people = reader();
  await people.current();
  store(2, 6);
  people.onChange(change(2));
  before = async () => {
    throw new Error('away');
  };
  await expect(people.current()).rejects.toThrow('away');
  before = async () => undefined;
  expect((await people.current())?.modeOfId(WORKSPACE, customer(2))).toBe('anonymise');
  expect(reads.slice(2)).toEqual(['2', '2']);
});

it('without a subscription, a call waits for a read that begins after it', async () => {
  store(1, 5);
  const people = reader();
  await people.current();
  isSubscribed = false;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  before = () => ended;
  const first = people.current();
  // Of this change no message arrives.
  store(2, 6);
  const second = people.current();
  end();
  await first;
  expect((await second)?.modeOfId(WORKSPACE, customer(2))).toBe('anonymise');
  expect(reads.filter((read) => read === 'versions')).toHaveLength(3);
});

it('a look-up that does not wait begins at most one read in two seconds', async () => {
  store(1, 5);
  const people = reader();
  await people.current();
  for (const version of [6, 7, 8]) {
    store(1, version, { mode: 'delete' });
    people.onChange(change(1));
    people.peek();
    await new Promise(setImmediate);
  }
  expect(reads).toHaveLength(2);
  nowMs += 2_000;
  people.peek();
  await new Promise(setImmediate);
  expect(people.peek()?.modeOfId(WORKSPACE, customer(1))).toBe('delete');
  expect(reads.slice(2)).toEqual(['1']);
});

it('a click of several erasures is deleted as long as one of them deletes it', async () => {
  store(1, 5, { mode: 'delete', clickIds: ['shared'] });
  store(2, 5, { clickIds: ['shared', 'own'] });
  const people = reader();
  const now = await people.current();
  const modes = () => ['shared', 'own', 'none'].map((id) => now?.modeOfClickId(WORKSPACE, id));
  expect(modes()).toEqual(['delete', 'anonymise', undefined]);
  expect(now?.erasuresWithout('7', '1', 'own').map(({ mode }) => mode)).toEqual(['delete']);
  expect(now?.erasuresWithout('7', '2', 'own')).toEqual([]);
  stored.delete('1');
  people.onGap();
  await people.current();
  expect(modes()).toEqual(['anonymise', 'anonymise', undefined]);
});

it('of several erasures of an external id, a queued customer belongs to the oldest that was accepted after it', async () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const subjectHash = ofKey.current(WORKSPACE, 'ann');
  store(3, 5, { subjectHash, createdAt: at(3_000), customerIds: [] });
  store(1, 5, { subjectHash, createdAt: at(1_000), customerIds: [] });
  store(2, 5, { subjectHash, createdAt: at(2_000), customerIds: [] });
  const now = await reader().current();
  const createdAt = (ms: number) => now?.erasureOf('7', String(BigInt(ms) << 22n), 'ann')?.createdAt;
  expect([500, 1_500, 2_500, 3_500].map(createdAt)).toEqual([at(1_000), at(2_000), at(3_000), undefined]);
  expect(now?.erasureOf('8', '1', 'ann')).toBeUndefined();
});

it('a queued customer of a person who was erased before or during a rotation is recognised while both keys are accepted', async () => {
  const ofOther = createSubjectHash(OTHER_KEY, []);
  store(1, 5, { customerIds: [], subjectHash: ofKey.current(WORKSPACE, 'before') });
  store(2, 5, { customerIds: [], subjectHash: ofOther.current(WORKSPACE, 'during') });
  const [before, during] = [1, 2].map((number) => formatResourceId('erasure', String(number)));
  const recognised = async (subjects = ofKey) => {
    const people = await reader(subjects).current();
    return ['before', 'during'].map((externalId) => people?.erasureOf('7', '3', externalId)?.id);
  };
  expect(await recognised(createSubjectHash(KEY, [OTHER_KEY]))).toEqual([before, during]);
  expect(await recognised(createSubjectHash(OTHER_KEY, [KEY]))).toEqual([before, during]);
  // Therefore docs/runbooks/rotating-keys.md has the previous key accepted for 31 days.
  expect(await recognised(ofOther)).toEqual([undefined, during]);
});
