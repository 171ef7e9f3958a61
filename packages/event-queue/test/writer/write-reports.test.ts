import { createEventId } from '@waymark/contract';
import { aClick, waitFor } from '@waymark/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventWriter, StoredGroup } from '../../src/index.js';
import { silentLogger } from '../silent-logger.js';
import { startWriterFixture, type WriterFixture } from './writer-fixture.js';

/** What operators are told of a writer: the groups it stored, and whether it is stuck. */

let fixture: WriterFixture;
let writer: EventWriter;
const groups: StoredGroup[] = [];
const warnings: string[] = [];
let aheadMs = 0;
const STUCK_AFTER_MS = 60_000;

beforeAll(async () => {
  fixture = await startWriterFixture();
  writer = fixture.aWriter({
    onStored(group) {
      groups.push(group);
      throw new Error('whoever is told must not hold up what is stored');
    },
    logger: { ...silentLogger, warn: (_context, message) => warnings.push(message) },
    stuckAfterMs: STUCK_AFTER_MS,
    now: () => Date.now() + aheadMs,
  });
});
afterAll(() => fixture.stop());

function clicks(workspaceId: string, count: number, ageMs = 0) {
  return Array.from({ length: count }, () => {
    const timestampMs = Date.now() - ageMs;
    return aClick({ workspaceId, timestampMs, clickId: createEventId(timestampMs) });
  });
}

/** The one group that was stored since `groups` was emptied. */
async function onlyGroup(): Promise<StoredGroup> {
  await fixture.untilDrained();
  const [group] = await waitFor(() => groups.length > 0 && groups.splice(0), { what: 'a group to be told' });
  return group as StoredGroup;
}

describe('a stored group', () => {
  it('is told with its rows, and each workspace with its events and their lag', async () => {
    await fixture.add('click', [...clicks('11', 3), ...clicks('12', 1, 30_000)]);
    const group = await onlyGroup();
    expect(group).toMatchObject({ kind: 'click', outcome: 'stored', rows: 4, attempts: 1 });
    expect(group.bytes).toBeGreaterThan(400);
    expect(group.gatherMs).toBeGreaterThanOrEqual(0);
    expect([...group.workspaces.keys()]).toEqual(['11', '12']);
    expect(group.workspaces.get('11')?.events).toBe(3);
    expect(group.workspaces.get('11')?.lagMsMax).toBeLessThan(30_000);
    expect(group.workspaces.get('12')?.lagMsMin).toBeGreaterThanOrEqual(30_000);
  });

  it('says that it was stored in parts, and that rows were parked', async () => {
    const [bad, ...good] = clicks('13', 4);
    const broken = (bad ?? []).with(3, 'no link');
    await fixture.add('click', [...good, broken]);
    const group = await onlyGroup();
    expect(group).toMatchObject({ outcome: 'parked', rows: 4 });
    expect(group.attempts).toBeGreaterThan(2);
  });

  it('is told of customers, too, without workspaces', async () => {
    await fixture.add('customer', [['14', '77', 5, 0, 'ext', '', 'FR', '2', Date.now(), '{}']]);
    expect(await onlyGroup()).toMatchObject({ kind: 'customer', outcome: 'stored', rows: 1, workspaces: new Map() });
  });
});

describe('a writer', () => {
  it('is stuck when jobs wait and nothing is stored for a minute though ClickHouse answers, and then says how many tries it took', async () => {
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events TO click_events_away' });
    await fixture.add('click', clicks('15', 1));
    await waitFor(() => warnings.some((text) => text.includes('trying again')), { what: 'an insert to fail' });
    await fixture.database.client.command({ query: 'SELECT 1' });
    await writer.checkProgress();
    aheadMs = STUCK_AFTER_MS + 5000;
    await expect(writer.checkProgress()).rejects.toThrow(/stuck: click jobs wait, and for 6\d s none was stored/);

    await fixture.database.client.command({ query: 'RENAME TABLE click_events_away TO click_events' });
    const group = await onlyGroup();
    expect(group).toMatchObject({ outcome: 'retried', rows: 1 });
    expect(group.attempts).toBeGreaterThan(1);
    await writer.checkProgress();
  });

  it('is not stuck after an hour without jobs, nor when the first one comes', async () => {
    aheadMs = 3_600_000;
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events TO click_events_away' });
    await fixture.add('click', clicks('16', 1));
    await waitFor(async () => (await fixture.admin.llen('{waymark}:click:active')) === 1, { what: 'the job' });
    await writer.checkProgress();
    await fixture.database.client.command({ query: 'RENAME TABLE click_events_away TO click_events' });
    await onlyGroup();
  });
});
