import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { type App, createLogger, fileDestination } from '../../src/index.js';
import { aTestApp } from '../test-app.js';

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

it('a request whose client has disconnected is logged without its network', async () => {
  const started = aTestApp({}, (routes) => {
    routes.get('/long', async () => 'a'.repeat(20_000_000));
  });
  app = started.app;
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET /long HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(socket, 'readable');
  socket.resetAndDestroy();
  await expect.poll(started.lines).toMatch(/"path":"\/long","ip":null/);
});

it('secrets are redacted by field name, also one and two levels down', () => {
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
    'instanceKeyNext',
    'instanceKeyPrevious',
    'adminKey',
    'adminKeyPrevious',
    'secret',
    'clickhousePassword',
    'set-cookie',
  ]) {
    logger.info({ [name]: 'hunter', a: { [name]: 'hunter' }, b: { c: { [name]: 'hunter' } } }, name);
  }
  expect(text).not.toContain('hunter');
  expect(text).toContain('***');
});

/** An error as ioredis throws it. */
const refused = (message: string, name: string) =>
  Object.assign(new Error(message), { command: { name, args: ['hunter', '{"ip":"203.0.113.77"}'] } });

/** What is logged for `fields`. */
function logged(fields: object): { readonly line: Record<string, unknown>; readonly text: string } {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  createLogger({ name: 'x', destination }).warn(fields, 'no room');
  return { line: JSON.parse(text), text };
}

it('a Redis error is logged with the name of its command, without the arguments', () => {
  const { line, text } = logged({ err: refused('OOM', 'evalsha') });
  expect(line.err).toMatchObject({ type: 'Error', message: 'OOM', command: 'evalsha' });
  expect(text).not.toMatch(/hunter|203\.0\.113/);
});

it('a refused transaction is logged without the arguments of its commands, and with the first of their errors', () => {
  const commands = Array.from({ length: 1000 }, (_, index) => refused(`NOREPLICAS ${index}`, 'set'));
  const err = Object.assign(refused('EXECABORT', 'exec'), { previousErrors: commands });
  const { line, text } = logged({ err });
  expect(line.err).toMatchObject({
    command: 'exec',
    previousErrors: [
      { message: 'NOREPLICAS 0', command: 'set' },
      { message: 'NOREPLICAS 1' },
      { message: 'NOREPLICAS 2' },
      'and 997 more',
    ],
  });
  expect(text).not.toMatch(/hunter|203\.0\.113/);
});

it.each([
  ['the cause', { err: new Error('not recorded', { cause: refused('OOM', 'set') }) }],
  ['a list of errors', { err: new AggregateError([refused('OOM', 'set')], 'two shards') }],
  ['another field of an error', { err: Object.assign(new Error('a'), { lastNodeError: refused('OOM', 'set') }) }],
  ['an object in an error', { err: Object.assign(new Error('a'), { shards: [{ error: refused('OOM', 'set') }] }) }],
  ['a field of another name', { reason: refused('OOM', 'set') }],
  ['an object in a field', { context: { failed: [refused('OOM', 'set')] } }],
])('arguments of a command are in no line: %s', (_, fields) => {
  const { text } = logged(fields);
  expect(text).toContain('OOM');
  expect(text).not.toMatch(/hunter|203\.0\.113/);
});

it('an error that contains itself is logged', () => {
  const err = refused('EPIPE', 'set');
  Object.assign(err, { previousErrors: [err], lastNodeError: err });
  const { line, text } = logged({ err });
  expect(line.err).toMatchObject({ message: 'EPIPE', command: 'set' });
  expect(text).not.toMatch(/hunter|203\.0\.113/);
});

it('fields without errors are logged as they are', () => {
  const fields = {
    tables: ['a', 'b', 'c', 'd'],
    counts: { a: 1, b: [null, undefined, 2] },
    at: new Date(0),
    none: null,
  };
  const { level, time, pid, hostname, name, msg, ...line } = logged(fields).line;
  expect(line).toEqual(JSON.parse(JSON.stringify(fields)));
});

it('only the network of an address is logged', async () => {
  const started = aTestApp({}, (routes) => {
    routes.get('/events', async () => 'ok');
  });
  app = started.app;
  const addresses = ['203.0.113.77', '2001:db8:1:2:3:4:5:6', '2001:db8::77', '::ffff:198.51.100.77'];
  const withPorts = ['203.0.113.77:50123', '[2001:db8:1:2::77]:50123', '198.51.100.77:443, 127.0.0.1:50123'];
  for (const address of [...addresses, ...withPorts]) {
    await app.inject({ url: '/events', headers: { 'x-forwarded-for': address } });
  }
  const ips = started
    .lines()
    .split('\n')
    .map((line) => /"ip":"([^"]*)"/.exec(line)?.[1])
    .filter((ip) => ip !== undefined);
  const networks = ['203.0.113.0', '2001:db8:1::', '2001:db8::', '198.51.100.0'];
  expect(ips).toEqual([...networks, '203.0.113.0', '2001:db8:1::', '198.51.100.0']);
});

it('client errors are not logged at the default level, internal errors are', async () => {
  let text = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  ({ app } = aTestApp({ logger: createLogger({ name: 'x', destination }) }, (routes) => {
    routes.get('/events', async () => {
      throw new Error('boom');
    });
  }));
  await app.inject('/nope');
  await app.inject('/%zz');
  expect(text).toBe('');
  await app.inject('/events');
  expect(text).toContain('boom');
});

it('a line that does not fit on a full disk is lost, and ends nothing', () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const logger = createLogger({ name: 'test', destination: fileDestination(full) });
  expect(() => logger.info('a line')).not.toThrow();
});
