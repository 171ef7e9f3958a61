import { Writable } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { type App, createLogger } from '../src/index.js';
import { aTestApp } from './test-app.js';

let app: App | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

it('a request’s key, cookies and query appear in no line, whatever the level', async () => {
  const started = aTestApp({}, (routes) => {
    routes.get('/events', async (request) => {
      request.log.info({ headers: request.headers, req: request, raw: { headers: request.headers } }, 'all of it');
      throw new Error('boom');
    });
  });
  app = started.app;
  await app.inject({
    url: '/events?password=hunter2&email=a@b.c',
    headers: { authorization: 'Bearer dub_hunter3', cookie: 'dub_id=hunter4' },
  });
  expect(started.lines()).toContain('"path":"/events"');
  expect(started.lines()).toContain('boom');
  expect(started.lines()).not.toMatch(/hunter|a@b\.c/);
});

it('secrets are hidden by name, one and two levels down', () => {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const logger = createLogger({ name: 'x', destination });
  for (const name of [
    'authorization',
    'cookie',
    'password',
    'token',
    'apiKey',
    'publishableKey',
    'instanceKey',
    'secret',
    'clickhousePassword',
    'set-cookie',
  ]) {
    logger.info({ [name]: 'hunter', a: { [name]: 'hunter' }, b: { c: { [name]: 'hunter' } } }, name);
  }
  expect(text).not.toContain('hunter');
  expect(text).toContain('***');
});

it('refusals are no noise: at the usual level only our own faults make a line', async () => {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  ({ app } = aTestApp({ logger: createLogger({ name: 'x', level: 'info', destination }) }));
  await app.inject('/nope');
  await app.inject('/%zz');
  expect(text).toBe('');
});
