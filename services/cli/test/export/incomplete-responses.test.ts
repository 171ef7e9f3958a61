import type { ExportJob } from '@waymark/contract';
import { expect, it } from 'vitest';
import { type ApiRequest, type ApiRequests, type ApiResponse, TemporaryError } from '../../src/api/api-requests.js';
import { jobExport } from '../../src/export/job-export.js';
import { streamExport } from '../../src/export/stream-export.js';

// A proxy may end a response normally although the rest of it is missing.

interface Answer extends Partial<Pick<ApiResponse, 'status' | 'trailers'>> {
  readonly text: string;
}

/** Requests that are answered one after the other, and repeated after a temporary error. */
function answeredBy(answers: Answer[], job?: Partial<ExportJob>) {
  const requests: ApiRequest[] = [];
  const api: ApiRequests = {
    async send(request) {
      requests.push(request);
      const { text, status = 200, trailers = {} } = answers.shift() ?? { text: '' };
      async function* body() {
        yield Buffer.from(text);
      }
      return { status, headers: {}, body: body(), trailers };
    },
    json: async <T>() => job as T,
    async untilDone(attempt) {
      for (;;) {
        try {
          return await attempt(() => undefined);
        } catch (err) {
          if (!(err instanceof TemporaryError)) throw err;
        }
      }
    },
  };
  let written = '';
  const output = {
    write: async (bytes: Uint8Array) => {
      written += Buffer.from(bytes).toString();
    },
    complete: async () => undefined,
    discard: async () => undefined,
  };
  return { deps: { api, output, counts: { rows: 0, bytes: 0, phase: '' } }, requests, written: () => written };
}

it('a stream that ends after a whole record, with fewer rows than it declares, is continued after that record', async () => {
  const [one, two] = ['{"id":"one"}\n', '{"id":"two"}\n'];
  const { deps, requests, written } = answeredBy([
    { text: one, trailers: { 'x-export-rows': '2' } },
    { text: two, trailers: { 'x-export-rows': '1' } },
  ]);
  await streamExport({ resource: 'links', format: 'ndjson', parameters: { format: 'ndjson' } }, 'ndjson', deps);
  expect(written()).toBe(one + two);
  expect(requests.map(({ path }) => path)).toEqual([
    '/links/export?format=ndjson',
    '/links/export?format=ndjson&startingAfter=one',
  ]);
});

it('a download that ends before the size of its file is continued at the next byte', async () => {
  const job = { id: 'exp_1', status: 'completed', rows: 1, files: [{ name: 'a.parquet', bytes: 10 }] };
  const { deps, requests, written } = answeredBy(
    [
      { text: '0123', status: 206 },
      { text: '456789', status: 206 },
    ],
    job as unknown as ExportJob,
  );
  const request = { resource: 'events', format: 'parquet', parameters: { format: 'parquet' } } as const;
  await jobExport(request, deps, new AbortController().signal);
  expect(written()).toBe('0123456789');
  expect(requests.map(({ headers }) => headers?.range)).toEqual(['bytes=0-', 'bytes=4-']);
});
