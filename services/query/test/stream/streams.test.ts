import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { STREAM_TIMES } from '../../src/stream/stream-times.js';
import { createStreams } from '../../src/stream/streams.js';
import type { TailFeeds } from '../../src/stream/tail-feeds.js';
import { createWorkspaceTail } from '../../src/stream/workspace-tail.js';

const END = { epoch: 1, number: 0 };

/** Opens the tail of any workspace, without events. */
const feeds: TailFeeds = {
  open: async () => ({ tail: createWorkspaceTail(END, async () => []), end: END, close() {} }),
  close() {},
};

test('a reader behind the end of a tail that Redis has lost gets an error, not an empty answer to each read', async () => {
  const tail = createWorkspaceTail({ epoch: 1, number: 5 }, async () => []);
  await expect(tail.after({ epoch: 1, number: 3 }, 10)).rejects.toThrow('Redis has lost the tail');
  await expect(tail.after({ epoch: 1, number: 5 }, 10)).resolves.toMatchObject({ entries: [], gap: undefined });
});

test('a stream that is opened after the shutdown has begun ends at once, so that the process can end', async () => {
  const streams = createStreams({ feedOf: async () => feeds, readFrames: async () => [], times: STREAM_TIMES });
  streams.close();
  const body = await streams.open({
    subscription: {
      caller: { workspaceId: 'ws_1', visibility: { hidesFolders: false, hidesPasswords: false } },
      ...{ programId: null, filters: new Map(), key: 'clicks' },
    },
    ...{ workspaceNumber: '1', keyId: 'key_1', resume: undefined },
    check: async () => undefined,
    onError: () => undefined,
  });
  expect(await text(body)).toMatch(/^retry: \d+\nid: 1-0\nevent: bye\ndata: \{"reason":"shutdown"\}\n\n$/);
});
