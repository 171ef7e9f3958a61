import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedAgents, type GuardedAgents } from '@waymark/outbound';
import { BUCKET, type S3Server, startS3Server } from '@waymark/test-kit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openS3Storage } from '../../src/schedules/s3-storage.js';

const MB = 1024 ** 2;
const never = new AbortController().signal;

let storage: S3Server;
let agents: GuardedAgents;
let answer: (response: ServerResponse, request: IncomingMessage) => void;
let other: Server;

beforeAll(async () => {
  storage = await startS3Server();
  agents = createGuardedAgents({ allowedRanges: ['127.0.0.0/8'] });
  other = createServer((request, response) => request.resume().on('end', () => answer(response, request)));
  await once(other.listen(0, '127.0.0.1'), 'listening');
});
afterAll(async () => {
  agents.close();
  other.closeAllConnections();
  other.close();
  await storage.stop();
});

function opened(endpoint = storage.url, pool = agents) {
  const place = {
    type: 's3',
    endpoint,
    region: 'us-east-1',
    bucket: BUCKET,
    prefix: '',
    forcePathStyle: true,
  } as const;
  const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'secret' };
  return openS3Storage(pool, { ...place, accessKeyHint: '…' }, credentials);
}
const otherUrl = () => `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
const text = { text: 'x', mediaType: 'text/plain' };

/** Random letters in pieces of 100,000. @param failAfter the piece after which making them fails */
async function* letters(bytes: number, hash = createHash('sha256'), failAfter = Number.POSITIVE_INFINITY) {
  for (let made = 0, piece = 0; made < bytes; made += 100_000, piece++) {
    if (piece === failAfter) throw new Error('no more letters');
    const part = Buffer.from(randomBytes(50_000).toString('hex'));
    hash.update(part);
    yield part;
  }
}

test.each([0, 1, 13 * MB])('an object of about %i bytes arrives as it was made', async (bytes) => {
  const hash = createHash('sha256');
  await opened().upload(`made-${bytes}`, { bytes: letters(bytes, hash), mediaType: 'text/csv' }, never);
  const found = await storage.get(`made-${bytes}`);
  expect(
    createHash('sha256')
      .update(found ?? 'none')
      .digest('hex'),
  ).toBe(hash.digest('hex'));
});

test.each([2, 100])(
  'an object whose bytes cannot be made after %i pieces does not appear, and the reason is thrown',
  async (pieces) => {
    const bytes = letters(13 * MB, createHash('sha256'), pieces);
    await expect(opened().upload('cut', { bytes, mediaType: 'text/csv' }, never)).rejects.toThrow('no more letters');
    expect(await storage.get('cut')).toBeUndefined();
  },
);

test('an upload that is given up ends, and does not appear', async () => {
  const controller = new AbortController();
  async function* bytes() {
    yield* letters(6 * MB);
    controller.abort();
    yield* letters(6 * MB);
  }
  const upload = opened().upload('given-up', { bytes: bytes(), mediaType: 'text/csv' }, controller.signal);
  await expect(upload).rejects.toMatchObject({ name: 'StorageError', isRefusal: false });
  expect(await storage.get('given-up')).toBeUndefined();
});

test.each([
  [
    403,
    '<Error><Code>AccessDenied</Code><Message>Access\u0007Denied</Message></Error>',
    'AccessDenied: Access Denied',
    true,
  ],
  [301, '', /HTTP status 301/, true],
  [500, 'oops', /HTTP status 500/, false],
  [403, 'x'.repeat(2 * MB), /./, true],
  [403, '<a>'.repeat(300_000), 'The storage has answered with the HTTP status 403.', true],
  [403, '<Error><Code></Code></Error>', 'The storage has answered with the HTTP status 403.', true],
])(
  'case %#: a refusing answer with the status %i is a reason for the owner',
  async (status, body, reason, isRefusal) => {
    answer = (response) => response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
    const failure = await opened(otherUrl())
      .put('key', text, never)
      .catch((err: unknown) => err);
    expect(failure).toMatchObject({
      ...{ name: 'StorageError', isRefusal },
      reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
    });
    expect((failure as { reason: string }).reason.length).toBeLessThan(330);
  },
);

test('an upload in parts that the storage refuses has its reason', async () => {
  answer = (response) =>
    response
      .writeHead(403, { 'content-type': 'application/xml' })
      .end('<Error><Code>AccessDenied</Code><Message>No.</Message></Error>');
  const bytes = letters(13 * MB);
  const uploading = opened(otherUrl()).upload('refused', { bytes, mediaType: 'text/csv' }, never);
  await expect(uploading).rejects.toMatchObject({ reason: 'AccessDenied: No.', isRefusal: true });
});

type Step = 'begin' | 'part' | 'complete' | 'remove' | 'put';

function stepOf({ method, url = '' }: IncomingMessage): Step {
  if (method === 'DELETE') return 'remove';
  if (method === 'POST') return url.includes('uploadId=') ? 'complete' : 'begin';
  return url.includes('partNumber=') ? 'part' : 'put';
}

const RIGHT: Readonly<Record<Step, string>> = {
  begin: '<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>',
  complete: '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>',
  ...{ part: '', remove: '', put: '' },
};

/** Answers as a storage does, but for some steps. @returns the steps that were requested, in order */
function answerAsStorage(wrong: Partial<Record<Step, (response: ServerResponse) => void>>): Step[] {
  const steps: Step[] = [];
  answer = (response, request) => {
    const step = stepOf(request);
    steps.push(step);
    const otherwise = wrong[step];
    if (otherwise !== undefined) otherwise(response);
    else response.writeHead(200, { 'content-type': 'application/xml', etag: '"1"' }).end(RIGHT[step]);
  };
  return steps;
}

test.each([
  ['put', 1 * MB],
  ['part', 13 * MB],
] as const)(
  'a request of the kind %s ends with the upload that was given up',
  async (waiting, size) => {
    const controller = new AbortController();
    const closed = new Promise((resolve) => {
      answerAsStorage({
        [waiting]: (response: ServerResponse) => {
          response.once('close', resolve);
          controller.abort();
        },
      });
    });
    const upload = opened(otherUrl()).upload(
      'late',
      { bytes: letters(size), mediaType: 'text/csv' },
      controller.signal,
    );
    await expect(upload).rejects.toMatchObject({ name: 'StorageError', isRefusal: false });
    // Well before the silence of 30 seconds after which any connection is closed.
    await closed;
  },
  10_000,
);

test('the parts of an upload that was given up are removed before it ends', async () => {
  const controller = new AbortController();
  const steps = answerAsStorage({ part: () => controller.abort() });
  const bytes = letters(13 * MB);
  const upload = opened(otherUrl()).upload('late', { bytes, mediaType: 'text/csv' }, controller.signal);
  await expect(upload).rejects.toMatchObject({ name: 'StorageError', isRefusal: false });
  expect(steps).toEqual(['begin', 'part', 'remove']);
});

test('an upload that fails has the reason of its failure, although the storage does not let its parts be removed', async () => {
  const xml = { 'content-type': 'application/xml' };
  const steps = answerAsStorage({
    part: (response) =>
      response.writeHead(500, xml).end('<Error><Code>InternalError</Code><Message>No.</Message></Error>'),
    remove: (response) =>
      response.writeHead(403, xml).end('<Error><Code>AccessDenied</Code><Message>No.</Message></Error>'),
  });
  const upload = opened(otherUrl()).upload('failed', { bytes: letters(13 * MB), mediaType: 'text/csv' }, never);
  await expect(upload).rejects.toMatchObject({ reason: 'InternalError: No.', isRefusal: false });
  expect(steps).toContain('remove');
});

test.each([
  ['put', 1 * MB],
  ['begin', 13 * MB],
  ['part', 13 * MB],
  ['complete', 13 * MB],
] as const)('a success without what S3 answers to a request of the kind %s is a failure', async (step, size) => {
  const site = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>');
  answerAsStorage({ [step]: site });
  const upload = opened(otherUrl()).upload('html', { bytes: letters(size), mediaType: 'text/csv' }, never);
  await expect(upload).rejects.toMatchObject({
    ...{ name: 'StorageError', isRefusal: true },
    reason: 'The answer is not that of a storage with the interface of S3.',
  });
});

test.each([
  [
    'changes the protocol',
    'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    /the answer changes the protocol/,
  ],
  ['sends early hints and no answer', 'HTTP/1.1 103 X\r\n\r\n'.repeat(1000), /more than 100 answers/],
  [
    'answers a byte at a time',
    `HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}`,
    /the answer comes in too many small pieces/,
  ],
  ['breaks off an answer where it begins', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n', /./],
])('a storage that %s does not keep an upload waiting', async (_what, bytes, reason) => {
  answer = (response) => response.socket?.write(bytes);
  const failure = await opened(otherUrl())
    .put('key', text, never)
    .catch((err: unknown) => err);
  expect(failure).toMatchObject({ name: 'StorageError', reason: expect.stringMatching(reason) });
});

test('an answer without end is cut off', async () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let sent = 0;
  answer = (response) => {
    response.writeHead(403);
    const more = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', more);
    more();
  };
  await expect(opened(otherUrl()).put('key', text, never)).rejects.toMatchObject({ name: 'StorageError' });
  expect(sent).toBeLessThan(32 * MB);
});

test('a storage at a private address is refused, by address or by name, and a redirect to one is not followed', async () => {
  const closed = createGuardedAgents({ allowedRanges: [], resolveHost: async () => ['127.0.0.1'] });
  const refused = { reason: 'The storage has no public address.', isRefusal: true };
  for (const url of [storage.url, storage.url.replace('127.0.0.1', 'storage.example')]) {
    await expect(opened(url, closed).put('key', text, never)).rejects.toMatchObject(refused);
  }
  closed.close();
  answer = (response) => response.writeHead(307, { location: `${storage.url}/${BUCKET}/redirected` }).end();
  await expect(opened(otherUrl()).put('redirected', text, never)).rejects.toMatchObject({ isRefusal: true });
  expect(await storage.get('redirected')).toBeUndefined();
});
