import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonArray, sendJson } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

test('an array of JSON texts is the array of their values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.json()), async (texts) => {
      expect(JSON.parse((await jsonArray(texts)).toString())).toEqual(texts.map((text) => JSON.parse(text)));
    }),
  );
});

test('its bytes are those of the texts joined', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary', minLength: 1 })), async (items) => {
      expect(await jsonArray(items)).toEqual(Buffer.from(`[${items.join(',')}]`));
    }),
  );
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
