import { NotReplicatedError } from '@waymark/redis';
import { waitFor } from '@waymark/test-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CONFIRMING_MAX, createFollowUpSender, type FollowUpSender } from '../../src/delivery/follow-up-jobs.js';

const JOBS = [{ id: '1-a', data: '{}' }];
const send = vi.fn<() => Promise<void>>();
let isClosing: boolean;
let sender: FollowUpSender;

beforeEach(() => {
  isClosing = false;
  sender = createFollowUpSender({ send }, () => isClosing);
  send.mockReset().mockRejectedValue(new NotReplicatedError('none'));
});
afterEach(() => {
  isClosing = true;
});

const errorOf = (sending: Promise<void>) => sending.then(() => undefined, String);

it('a webhook with eight waiting jobs is full, and others are not; the waits end when the worker closes', async () => {
  const sending = Array.from({ length: 8 }, () => errorOf(sender.send('wh_a', JOBS)));
  await waitFor(() => sender.isFull('wh_a'), { what: 'eight jobs to wait' });
  expect(sender.isFull('wh_b')).toBe(false);
  isClosing = true;
  expect(new Set(await Promise.all(sending))).toEqual(new Set(['NotReplicatedError: none']));
  expect(sender.isFull('wh_a')).toBe(false);
});

it('the jobs that wait are sent when the replicas are back', async () => {
  const sending = ['wh_a', 'wh_b'].map((id) => errorOf(sender.send(id, JOBS)));
  // Two first attempts, and one of the job that waits longest.
  await waitFor(() => send.mock.calls.length === 3, { what: 'the first attempts' });
  send.mockResolvedValue();
  expect(await Promise.all(sending)).toEqual([undefined, undefined]);
  expect(send).toHaveBeenCalledTimes(5);
});

it('a job beyond the bound does not wait, and no job waits after an error of another kind', async () => {
  const sending = Array.from({ length: CONFIRMING_MAX }, (_, index) => errorOf(sender.send(`wh_${index}`, JOBS)));
  await waitFor(() => send.mock.calls.length > CONFIRMING_MAX, { what: 'the jobs to wait' });
  await expect(sender.send('wh_more', JOBS)).rejects.toThrow(NotReplicatedError);
  send.mockRejectedValue(new Error('another one'));
  expect(new Set(await Promise.all(sending))).toEqual(new Set(['Error: another one']));
});
