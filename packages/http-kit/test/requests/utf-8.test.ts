import { expect, it } from 'vitest';
import { aTestApp } from '../test-app.js';

const post = (payload: Buffer) => {
  const { app } = aTestApp({}, (routes) => {
    routes.post('/echo', async ({ body }) => ({ body }));
  });
  return app.inject({ method: 'POST', url: '/echo', headers: { 'content-type': 'application/json' }, payload });
};

it.each([
  ['a text in Latin-1', Buffer.from('{"name":"é"}', 'latin1')],
  [
    'a character that is cut off',
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from('😀').subarray(0, 3), Buffer.from('"}')]),
  ],
  ['half of a surrogate pair', Buffer.from('7b226e223a22eda080227d', 'hex')],
])('a body that is not valid UTF-8 is refused: %s', async (_what, payload) => {
  const answer = await post(payload);
  expect([answer.statusCode, answer.json().error?.code, answer.json().error?.message]).toEqual([
    400,
    'bad_request',
    'The request body is not valid UTF-8.',
  ]);
});

it('a body in UTF-8 is taken unchanged, also with a replacement character of its own', async () => {
  const body = { name: 'é 😀 \ufffd 漢' };
  const answer = await post(Buffer.from(JSON.stringify(body)));
  expect([answer.statusCode, answer.json()]).toEqual([200, { body }]);
});
