import { rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { createApp, createLogger } from '@waymark/http-kit';
import { temporaryDirectory, waitFor } from '@waymark/test-kit';
import type { FastifyRequest } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createImportFiles } from '../../src/imports/import-files.js';
import { acceptUploads, receiveUpload } from '../../src/imports/receive-upload.js';

const BYTES_MAX = 1024;
const HEAD = [
  '--b',
  'Content-Disposition: form-data; name="source"',
  '',
  'csv',
  '--b',
  'Content-Disposition: form-data; name="file"; filename="a.csv"',
  '',
  'url',
].join('\r\n');

const headers = { 'content-type': 'multipart/form-data; boundary=b' };

/** An app that receives uploads. @returns its port */
async function listenForUploads(bytesMax: number, noteReceiving: (request: FastifyRequest) => void = () => {}) {
  const directory = temporaryDirectory('receive-upload-');
  const app = createApp({
    ...{ logger: createLogger({ name: 'test', level: 'silent' }), docBase: 'https://d.example', trustedProxies: [] },
  });
  onTestFinished(async () => {
    await app.close();
    rmSync(directory, { recursive: true });
  });
  await acceptUploads(app, bytesMax);
  app.post('/', async (request) => {
    const received = receiveUpload(request, createImportFiles(directory), bytesMax);
    noteReceiving(request);
    const { bytes } = await received;
    return { bytes, uploadMs: request.uploadMs() };
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

test('a file that its client writes line by line is received, as short as lines are', async () => {
  const port = await listenForUploads(1024 ** 2);
  function* form() {
    yield `${HEAD},key\n`;
    for (let line = 10_000; line < 14_000; line++) yield `https://a.test/${line},k${line}\n`;
    yield '\r\n--b--\r\n';
  }
  const sent = { method: 'POST', headers, body: Readable.from(form()), duplex: 'half' } as unknown as RequestInit;
  const answer = await fetch(`http://127.0.0.1:${port}/`, sent);
  expect(await answer.json()).toMatchObject({ bytes: 8 + 4000 * 28 });
});

test('the time of an upload is that in which its file arrives, also of one that is broken off', async () => {
  let noteReceiving = (_request: FastifyRequest) => {};
  const receiving = new Promise<FastifyRequest>((resolve) => {
    noteReceiving = resolve;
  });
  const port = await listenForUploads(BYTES_MAX, (request) => noteReceiving(request));
  let sentMs = 0;
  const answer = new Promise<string>((resolve, reject) => {
    const sending = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers }, async (response) => {
      let text = '';
      for await (const part of response) text += String(part);
      resolve(text);
    });
    sending.on('error', reject);
    sending.write(HEAD);
    receiving.then(async (request) => {
      sentMs = await waitFor(async () => request.uploadMs() || undefined, { what: 'the upload to begin' });
      sending.end('\r\n--b--\r\n');
    }, reject);
  });
  const { bytes, uploadMs } = JSON.parse(await answer) as { bytes: number; uploadMs: number };
  expect(bytes).toBe(3);
  expect(sentMs).toBeGreaterThan(0);
  expect(uploadMs).toBeGreaterThan(sentMs);
});

test.each([
  ['domains', 1001],
  ['tags', 51],
])(
  'a form with too many %s is refused while its fields arrive',
  async (name, items) => {
    const port = await listenForUploads(BYTES_MAX);
    const field = `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
    const answer = await new Promise<string>((resolve, reject) => {
      const sending = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers }, async (response) => {
        let text = '';
        for await (const part of response) text += String(part);
        resolve(text);
        sending.destroy();
      });
      sending.on('error', reject);
      // Neither the file nor the end of the form follows.
      sending.write(`${field}x\r\n${field}${'x,'.repeat(items - 1)}\r\n--b\r\n`);
    });
    const message = expect.stringContaining(`${name}: must have at most ${items - 1} items`);
    expect(JSON.parse(answer).error).toMatchObject({ code: 'unprocessable_entity', message });
  },
  10_000,
);
