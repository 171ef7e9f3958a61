import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonItems, sendJson, sendJsonText } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

/** Longer than what is sent as one buffer. */
const LONG = JSON.stringify('x'.repeat(1_000_000));

async function bytesOf(groups: readonly (readonly string[])[]): Promise<Buffer> {
  async function* read() {
    yield* groups;
  }
  const body = await jsonItems(read());
  return Buffer.isBuffer(body) ? body : buffer(body);
}

test('an array of JSON texts is the array of their values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fc.json())), async (groups) => {
      const values = groups.flat().map((text) => JSON.parse(text));
      expect(JSON.parse((await bytesOf(groups)).toString())).toEqual(values);
    }),
  );
});

test('its bytes are those of the texts joined, in whichever groups they come, and however long they are', async () => {
  const item = fc.oneof({ weight: 9, arbitrary: fc.string({ unit: 'binary', minLength: 1 }) }, fc.constant(LONG));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(item), { maxLength: 5 }), async (groups) => {
      expect((await bytesOf(groups)).equals(Buffer.from(`[${groups.flat().join(',')}]`))).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test('a long array whose next group cannot be read is cut off, and not a shorter array', async () => {
  const { app } = aTestApp({}, (routes) => {
    routes.get('/long', async (_request, reply) => {
      async function* read() {
        yield [LONG, LONG];
        throw new Error('The store is away.');
      }
      return sendJsonText(reply, await jsonItems(read()));
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/long`);
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
  await app.close();
});

test('other requests have turns while a long array is serialized and sent', async () => {
  const items = Array.from({ length: 60 }, () => ({
    toJSON() {
      const endMs = performance.now() + 2;
      while (performance.now() < endMs);
      return 1;
    },
  }));
  let turns = 0;
  let isDone = false;
  const takeTurn = () => {
    turns += 1;
    if (!isDone) setImmediate(takeTurn);
  };
  const { app } = aTestApp({}, (routes) => {
    routes.get('/long', (_request, reply) => {
      setImmediate(takeTurn);
      return sendJson(reply, items);
    });
  });
  const answer = await app.inject('/long');
  isDone = true;
  await app.close();
  expect(answer.json()).toHaveLength(60);
  expect(turns).toBeGreaterThanOrEqual(10);
});
