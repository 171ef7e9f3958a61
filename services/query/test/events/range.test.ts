import { afterAll, beforeAll, expect, test } from 'vitest';
import { aWorkspace, MINUTE_MS, NOW, startQuery, type TestQuery, type TestWorkspace } from '../test-query.js';

/** Times of the clicks, by name. The current time is Saturday, 14:30:00.250 in UTC. */
const TIMES = {
  tomorrow: '2026-11-22T00:00:00.000Z',
  evening: '2026-11-21T23:59:59.999Z',
  now: '2026-11-21T14:30:00.250Z',
  midnight: '2026-11-21T00:00:00.000Z',
  yesterday: '2026-11-20T23:59:59.999Z',
  friday: '2026-11-20T14:30:00.250Z',
  monday: '2026-11-16T12:00:00.000Z',
  week: '2026-11-14T14:30:00.250Z',
  month: '2026-11-01T00:00:00.000Z',
  october: '2026-10-31T23:00:00.000Z',
  quarter: '2026-10-01T00:00:00.000Z',
  summer: '2026-08-23T14:30:00.250Z',
  year: '2026-01-01T00:00:00.000Z',
  lastYear: '2025-11-21T14:30:00.250Z',
  old: '2024-02-29T12:00:00.000Z',
} as const;
const NAMES = Object.keys(TIMES) as (keyof typeof TIMES)[];

let query: TestQuery;
let workspace: TestWorkspace;
const nameById = new Map<unknown, string>();

beforeAll(async () => {
  query = await startQuery();
  workspace = await aWorkspace(query);
  const link = await workspace.aLink({ key: 'a' });
  const clicks = NAMES.map((name) => workspace.click(link, (NOW - Date.parse(TIMES[name])) / MINUTE_MS));
  for (const [index, click] of clicks.entries()) nameById.set(click[2], NAMES[index]!);
  await workspace.store({ clicks });
});
afterAll(() => query.close());

/** Names of the listed clicks, newest first. */
const between = (newest: keyof typeof TIMES, oldest: keyof typeof TIMES) =>
  NAMES.slice(NAMES.indexOf(newest), NAMES.indexOf(oldest) + 1).join(' ');

test.each([
  ['', 'now', 'friday'],
  ['interval=24h', 'now', 'friday'],
  ['interval=7d', 'evening', 'week'],
  ['interval=30d', 'evening', 'october'],
  ['interval=90d', 'evening', 'summer'],
  ['interval=1y', 'evening', 'lastYear'],
  ['interval=mtd', 'evening', 'month'],
  ['interval=qtd', 'evening', 'quarter'],
  ['interval=ytd', 'evening', 'year'],
  ['interval=all', 'evening', 'old'],
  ['interval=mtd&timezone=Europe/Berlin', 'now', 'october'],
  ['interval=mtd&timezone=Nowhere/Land', 'evening', 'month'],
  ['start=2026-11-21', 'now', 'midnight'],
  ['start=2026-11-21&end=2026-11-21', 'evening', 'midnight'],
  ['start=2026-11-20&end=2026-11-20', 'yesterday', 'friday'],
  ['start=2026-11-21&end=2026-11-21&timezone=Pacific/Kiritimati', 'midnight', 'friday'],
  ['start=2026-11-21T00:00:00Z&end=2026-11-21T14:30:00.250Z', 'now', 'midnight'],
  ['start=2026-11-21T01:00:00%2B01:00&end=2026-11-21T14:30:00.249Z', 'midnight', 'midnight'],
  ['start=2026-11-21T14:30:00.250Z&end=2026-11-21T00:00:00Z', 'now', 'midnight'],
  ['start=2026-11-21&end=2026-11-14', 'evening', 'week'],
  ['start=2026-11-22&interval=24h', 'tomorrow', 'now'],
  ['end=2026-11-14&interval=24h', 'now', 'friday'],
  ['start=yesterday', 'now', 'friday'],
  ['start=yesterday&end=yesterday', 'yesterday', 'friday'],
  ['start=7 days ago&end=last monday', 'monday', 'week'],
  ['start=24 hours ago', 'now', 'friday'],
  ['start=last monday at noon&end=now', 'now', 'monday'],
  ['start=29 february 2024&end=Feb 29, 2024', 'old', 'old'],
  ['start=today&timezone=Pacific/Kiritimati&end=tomorrow', 'tomorrow', 'now'],
  ['start=this week', 'now', 'monday'],
  ['start=last week&end=last week', 'week', 'week'],
  ['start=last month&end=last month', 'october', 'quarter'],
  ['start=last month&end=last month&timezone=Europe/Berlin', 'quarter', 'quarter'],
  ['start=2026-W47&end=2026-W47', 'tomorrow', 'monday'],
  ['start=Q3&end=Q3 2026', 'summer', 'summer'],
  ['start=2025&end=end of last year', 'lastYear', 'lastYear'],
  ['start=last 7 days', 'now', 'week'],
  ['start=start of month&end=end of today', 'evening', 'month'],
  ['start=nov 14&end=monday', 'monday', 'week'],
] as const)('GET /events?%s gives the clicks from %s back to %s', async (parameters, newest, oldest) => {
  const { status, body } = await workspace.events(parameters);
  expect(status).toBe(200);
  expect(body.map((item) => nameById.get('click_id' in item && item.click_id)).join(' ')).toBe(between(newest, oldest));
});

test.each([
  'start=next life',
  'end=last',
  'start=03/04/2026',
  'start=31/12/2026',
  `start=${'yesterday '.repeat(11)}`,
  'start=1772600000',
  'start=2026-02-29',
  'start=2026-11-21&end=soon',
  'interval=2w',
  'interval=',
])('GET /events?%s is refused with the name of the parameter', async (parameters) => {
  const { status, body } = await workspace.events(parameters);
  const name = /end=soon/.test(parameters) ? 'end' : parameters.split('=')[0];
  expect([status, body.error.code]).toEqual([422, 'unprocessable_entity']);
  expect(body.error.message).toContain(`: ${name}: `);
});
