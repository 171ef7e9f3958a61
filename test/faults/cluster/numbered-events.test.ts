import { expect, it } from 'vitest';
import { sendNumberedEvents } from './numbered-events.js';

/** Two processes whose calls have the given statuses, the last one for ever. */
function answering(...statuses: number[]) {
  const calls: string[] = [];
  const api = {
    call: async (_method: string, path: string) => {
      calls.push(path);
      return { status: statuses.length > 1 ? (statuses.shift() ?? 200) : (statuses[0] ?? 200), body: {} };
    },
  };
  return { calls, two: { apis: [api, api], aClick: async () => 'click' } as never };
}

it('an event that is refused permanently fails the test, and is not sent again', async () => {
  const { calls, two } = answering(404);
  const events = sendNumberedEvents(two, 1, 0);
  await expect(events.progress(1)).rejects.toThrow('event 1, /track/lead: 404');
  await expect(events.finish()).rejects.toThrow('404');
  expect(calls).toEqual(['/track/lead']);
});

it('an event is sent again after temporary refusals', async () => {
  const { calls, two } = answering(500, 429, 200);
  await sendNumberedEvents(two, 1, 0).finish();
  expect(calls).toEqual(['/track/lead', '/track/lead', '/track/lead', '/track/sale']);
});
