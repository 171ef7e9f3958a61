import { insertRows } from '@waymark/clickhouse';
import { createEventId, formatResourceId } from '@waymark/contract';
import { aClick, insertClicks, startTestReplicas, type TestReplicas } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClickAliases } from '../../src/track/conversions/click-aliases.js';
import { createClickFinder } from '../../src/track/conversions/click-finder.js';
import { readClick } from '../../src/track/conversions/click-rows.js';

/** Clicks that one replica of ClickHouse has, and the one that is read has not. */

let replicas: TestReplicas;
const NUMBER = '840';
const WORKSPACE = formatResourceId('workspace', NUMBER);
const MINUTE_MS = 60_000;
const UNAVAILABLE = { code: 'internal_server_error', retryAfterSeconds: 1 };
/** Two reads each of clicks and of aliases, on one replica and on all; four that look for a complete replica; one of clicks after it. */
const STATEMENTS_MAX = 9;
/** Those on all servers: two reads of clicks, one of aliases, two of the states of replicas. */
const ON_ALL_MAX = 5;

beforeAll(async () => {
  replicas = await startTestReplicas();
});
afterAll(() => replicas.stop());
beforeEach(async () => {
  for (const table of ['click_events', 'click_aliases']) await replicas.setStates(table, {}, {});
});

const aFinder = (deadlineMs?: number) => {
  const { first: clickhouse, cluster } = replicas;
  const workspaces = { get: async () => ({ hasClickAliases: true as const }) };
  return createClickFinder({
    ...{ clickhouse, cluster, now: Date.now, maxWaitMs: 0 },
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    producer: { oldestQueuedMs: async () => undefined, findQueuedClick: async () => undefined },
    freshClicks: { find: () => undefined },
    aliases: createClickAliases({ clickhouse, cluster, workspaces }),
    erased: { peek: () => undefined },
  });
};

describe('a click that the replica which is read lacks', () => {
  it.each([0, 9 * MINUTE_MS])('is found on another one, %i ms after it', async (ageMs) => {
    const click = aClick({ workspaceId: NUMBER, timestampMs: Date.now() - ageMs });
    await insertClicks(replicas.second, [click]);
    await replicas.setStates('click_events', { inserts: 1 }, { inserts: 1 });
    const found = await aFinder().find(WORKSPACE, String(click[2]));
    expect(found).toHaveLength(click.length);
    const { timestampMs, clickId } = readClick(found);
    expect({ timestampMs, clickId, workspace: found[0] }).toEqual({
      ...{ timestampMs: click[1], clickId: click[2], workspace: NUMBER },
    });
  });

  it('is found by its alias', async () => {
    const timestampMs = Date.UTC(2024, 3, 5);
    const click = aClick({ workspaceId: NUMBER, timestampMs });
    await insertClicks(replicas.second, [click]);
    await insertRows(replicas.second, {
      table: 'click_aliases',
      columns: ['workspace_id', 'alias', 'click_id', 'clicked_at'],
      rows: [[NUMBER, 'of dub', String(click[2]), timestampMs]],
    });
    expect(readClick(await aFinder().find(WORKSPACE, 'of dub')).clickId).toBe(click[2]);
  });
});

/** The statements of a test, which all must have a signal. */
function countStatements() {
  const rows = vi.spyOn(replicas.first, 'rows');
  return {
    get count() {
      return rows.mock.calls.length;
    },
    get onAll() {
      return rows.mock.calls.filter(([{ query }]) => query.includes('clusterAllReplicas')).length;
    },
    get withSignal() {
      return rows.mock.calls.filter(([{ signal }]) => signal !== undefined).length;
    },
    [Symbol.dispose]: () => rows.mockRestore(),
  };
}

/** The errors of a hundred look-ups at once of clicks that do not exist. */
async function errorsOfHundred(ageMs: number) {
  const finder = aFinder();
  const ids = Array.from({ length: 100 }, () => createEventId(Date.now() - ageMs));
  const results = await Promise.allSettled(ids.map((id) => finder.find(WORKSPACE, id)));
  return new Set(results.map((result) => (result.status === 'rejected' ? result.reason.code : 'found')));
}

describe('a click that no replica has', () => {
  it('is not found if one of them is complete', async () => {
    for (const table of ['click_events', 'click_aliases']) await replicas.setStates(table, { inserts: 1 }, {});
    await expect(aFinder().find(WORKSPACE, createEventId(Date.now()))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is not found on a new shard, whose log of inserts is empty', async () => {
    const empty = { pointer: 0, end: 0 };
    await replicas.setStates('click_events', empty, empty);
    using statements = countStatements();
    expect(await errorsOfHundred(0)).toEqual(new Set(['not_found']));
    expect(statements.count).toBe(STATEMENTS_MAX);
    expect(statements.onAll).toBe(ON_ALL_MAX);
    expect(statements.withSignal).toBe(STATEMENTS_MAX);
  });

  it('may be stored while none is: 500 with Retry-After, within seconds and with few statements', async () => {
    await replicas.setStates('click_events', { inserts: 1 }, { inserts: 1 });
    await expect(aFinder().find(WORKSPACE, createEventId(Date.now()))).rejects.toMatchObject(UNAVAILABLE);
    using statements = countStatements();
    expect(await errorsOfHundred(0)).toEqual(new Set([UNAVAILABLE.code]));
    // Neither aliases, nor a second read of clicks.
    expect(statements.count).toBe(STATEMENTS_MAX - 3);
  });

  it('is not found at once if its id is older than ten minutes, or is no id: no replica has to be complete', async () => {
    for (const table of ['click_events', 'click_aliases'])
      await replicas.setStates(table, { inserts: 1 }, { inserts: 1 });
    using statements = countStatements();
    expect(await errorsOfHundred(11 * MINUTE_MS)).toEqual(new Set(['not_found']));
    // Of the click on one replica, of its alias on one and on all.
    expect(statements.count).toBe(3);
    await expect(aFinder().find(WORKSPACE, 'of nothing')).rejects.toMatchObject({ code: 'not_found' });
    expect(statements.count).toBe(5);
    expect(statements.withSignal).toBe(5);
  });

  it('is answered 500 at the deadline while ClickHouse hangs', async () => {
    let fail: (err: Error) => void = () => undefined;
    const hanging = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    hanging.catch(() => undefined);
    const rows = vi.spyOn(replicas.first, 'rows').mockReturnValue(hanging);
    try {
      const found = aFinder(50).find(WORKSPACE, createEventId(Date.now()));
      await expect(found).rejects.toMatchObject({ ...UNAVAILABLE, context: { what: 'click look-up took too long' } });
    } finally {
      fail(new Error('the test is over'));
      rows.mockRestore();
    }
  });
});
