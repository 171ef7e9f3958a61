import type { ExportSchedule } from '@waymark/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NOW, startQuery, type TestQuery } from '../test-query.js';
import { aSchedule } from './a-schedule.js';

let query: TestQuery;
beforeAll(async () => {
  query = await startQuery(() => NOW);
});
afterAll(() => query.close());

async function aSavedSchedule() {
  const { schedule, workspace } = await aSchedule(query);
  const patch = async (payload: object): Promise<ExportSchedule & { error: unknown }> => {
    const url = `/exports/schedules/${schedule.id}`;
    const headers = { authorization: `Bearer ${workspace.token}` };
    return (await query.app.inject({ method: 'PATCH', url, headers, payload })).json();
  };
  return { workspace, patch };
}

test('a schedule can be changed and disabled while its workspace has used up its events', async () => {
  const { workspace, patch } = await aSavedSchedule();
  const link = await workspace.aLink({ key: 'a' });
  await query.catalog.workspaces.update(workspace.id, { quotas: { eventsPerMonth: 0 } });
  await workspace.store({ clicks: [workspace.click(link, 0, { timestampMs: Date.now() })] });
  expect((await workspace.events()).status).toBe(403);
  expect(await patch({ rowsPerFile: 5000 })).toMatchObject({ rowsPerFile: 5000, disabledAt: null });
  expect(await patch({ disabled: true })).toMatchObject({ disabledReason: 'It was disabled by a request.' });
});

test('a change without a body is refused, because it would give the schedule the access of the key', async () => {
  const { schedule, workspace } = await aSchedule(query);
  const headers = { authorization: `Bearer ${workspace.token}` };
  const answer = await query.app.inject({ method: 'PATCH', url: `/exports/schedules/${schedule.id}`, headers });
  expect([answer.statusCode, answer.json().error?.message]).toEqual([400, 'required: body: is required']);
});

test('one can be disabled after the link of its filter was removed, and is only enabled with a filter that selects one', async () => {
  const { workspace, patch } = await aSavedSchedule();
  const link = await workspace.aLink({ key: 'a', externalId: 'one' });
  await patch({ filters: { externalId: 'ext_one' } });
  await workspace.remove(link);
  const unknown = { error: { code: 'not_found' } };
  expect(await patch({ rowsPerFile: 5000 })).toMatchObject(unknown);
  expect(await patch({ disabled: true })).toMatchObject({ disabledReason: 'It was disabled by a request.' });
  expect(await patch({ rowsPerFile: 5000 })).toMatchObject({ rowsPerFile: 5000 });
  expect(await patch({ filters: { externalId: 'ext_other' } })).toMatchObject(unknown);
  expect(await patch({ disabled: false })).toMatchObject(unknown);
  expect(await patch({ disabled: false, filters: {} })).toMatchObject({ disabledAt: null, filters: {} });
});
