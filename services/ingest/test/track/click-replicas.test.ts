import { insertRows } from '@waymark/clickhouse';
import { createEventId, formatResourceId } from '@waymark/contract';
import { aClick, insertClicks, startTestReplicas, type TestReplicas } from '@waymark/test-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClickAliases } from '../../src/track/conversions/click-aliases.js';
import { createClickFinder } from '../../src/track/conversions/click-finder.js';
import { readClick } from '../../src/track/conversions/click-rows.js';

/** Clicks that one replica of ClickHouse has, and the one that is read has not. */

let replicas: TestReplicas;
const NUMBER = '840';
const WORKSPACE = formatResourceId('workspace', NUMBER);
const HOUR_MS = 3_600_000;

beforeAll(async () => {
  replicas = await startTestReplicas();
});
afterAll(() => replicas.stop());
beforeEach(async () => {
  for (const table of ['click_events', 'click_aliases']) await replicas.say(table, {}, {});
});

const aFinder = () => {
  const { first: clickhouse, cluster } = replicas;
  const workspaces = { get: async () => ({ hasClickAliases: true as const }) };
  return createClickFinder({
    ...{ clickhouse, cluster, now: Date.now, maxWaitMs: 0 },
    producer: { oldestQueuedMs: async () => undefined, findQueuedClick: async () => undefined },
    freshClicks: { find: () => undefined },
    aliases: createClickAliases({ clickhouse, cluster, workspaces }),
    erased: { peek: () => undefined },
  });
};

describe('a click that the replica which is read lacks', () => {
  it.each([0, 2 * HOUR_MS])('is found on another one, %i ms after it', async (ageMs) => {
    const click = aClick({ workspaceId: NUMBER, timestampMs: Date.now() - ageMs });
    await insertClicks(replicas.second, [click]);
    await replicas.say('click_events', { inserts: 1 }, { inserts: 1 });
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

describe('a click that no replica has', () => {
  it('is not found if one of them is complete', async () => {
    for (const table of ['click_events', 'click_aliases']) await replicas.say(table, { inserts: 1 }, {});
    await expect(aFinder().find(WORKSPACE, createEventId(Date.now()))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('may be stored while none is: 500 with Retry-After', async () => {
    const unavailable = { code: 'internal_server_error', retryAfterSeconds: 1 };
    await replicas.say('click_aliases', { inserts: 1 }, { inserts: 1 });
    await expect(aFinder().find(WORKSPACE, 'of nothing')).rejects.toMatchObject(unavailable);
    await replicas.say('click_events', { inserts: 1 }, { inserts: 1 });
    await expect(aFinder().find(WORKSPACE, createEventId(Date.now()))).rejects.toMatchObject(unavailable);
  }, 60_000);
});
