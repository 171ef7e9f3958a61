import { expect, it } from 'vitest';
import { z } from 'zod';
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

const readQuery = (query: string) => {
  const { app } = aTestApp({}, (routes) => {
    routes.get('/cities', { schema: { querystring: z.object({ city: z.string() }) } }, async ({ query }) => ({
      query,
    }));
    const image = {
      config: { crossOrigin: 'images' },
      schema: { querystring: z.object({ city: z.string() }) },
    } as const;
    routes.get('/image', image, async ({ query }) => ({ query }));
    routes.get('/visit', async ({ raw }) => ({ url: raw.url }));
  });
  return {
    api: app.inject(`/cities?${query}`),
    image: app.inject(`/image?${query}`),
    visit: app.inject(`/visit?${query}`),
  };
};

it.each(['city=M%FCnchen', 'city=a&%E9=1', 'city=%F0%9F%98', 'city=%ED%A0%80'])(
  'a query string that is not valid UTF-8 is refused where parameters are read, not by other routes: %s',
  async (query) => {
    const { api, visit } = readQuery(query);
    expect([(await api).statusCode, (await api).json().error?.message]).toEqual([
      400,
      'The query string is not valid UTF-8.',
    ]);
    expect((await visit).json()).toEqual({ url: `/visit?${query}` });
  },
);

it.each([
  ['city=M%C3%BCnchen', 'München'],
  ['city=%EF%BF%BD+%f0%9f%98%80', '\ufffd 😀'],
  ['city=50%', '50%'],
  ['city=%zz', '%zz'],
])('a query string in UTF-8 is taken, also with a percent sign that begins no escape: %s', async (query, city) => {
  expect((await readQuery(query).api).json()).toEqual({ query: { city } });
});

it('a query string in another encoding is taken by images for pages, as an address in it may be in any', async () => {
  expect((await readQuery('city=https://acme.com/caf%E9').image).json()).toEqual({
    query: { city: 'https://acme.com/caf%E9' },
  });
});
