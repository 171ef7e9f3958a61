import type { AddressInfo } from 'node:net';
import { createLogger } from '@waymark/http-kit';
import { waitFor } from '@waymark/test-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildLinkApp, buildTrackApp } from '../../services/ingest/src/index.js';
import { BROWSER, startIngest, type TestIngest } from '../../services/ingest/test/test-ingest.js';
import { FAULTS } from './fault-length.js';
import { exchange, isWholeAnswer } from './hostile/raw-socket.js';
import { type RawRequest, rawRequests } from './hostile/requests.js';

// Sends malformed and hostile requests to the public ports over raw sockets: all of them are answered, none with an internal
// error, and no response contains data of another workspace.

const BATCH = 1000;
const BATCHES = FAULTS.isLong ? 1000 : 3;
/** Concurrent requests. Some never end, and occupy their connection until the server closes it. */
const CONNECTIONS = 100;
const PROGRESS_EVERY = 50_000;
const FUZZING_MS = FAULTS.isLong ? 3_600_000 : 180_000;
/** Contained in all data of a workspace, but in no request. */
const MARKS = { 'a.test': 'only-of-workspace-a', 'b.test': 'only-of-workspace-b' } as const;
const SECRET = 'never-shown-without-password';

let ingest: TestIngest;
const ports = { links: 0, track: 0, patient: 0 };
const apps: { close(): Promise<void> }[] = [];
const tokens = ['nobody', ''];
/** The keys of each workspace, by its host. */
const keysOf = new Map<string, readonly string[]>();

async function aWorkspace(host: keyof typeof MARKS): Promise<void> {
  const { catalog } = ingest;
  const slug = host.replace('.', '-');
  const { workspace, apiKey, publishableKey } = await catalog.workspaces.create({
    name: slug,
    slug,
    plan: 'enterprise',
    domain: host,
  });
  await catalog.workspaces.update(workspace.id, { requestsPerMinute: 1_000_000_000 });
  keysOf.set(host, [apiKey.token, publishableKey.token]);
  tokens.push(apiKey.token, publishableKey.token);
  const url = `https://acme.example/${MARKS[host]}`;
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const links = [
    { key: 'plain', url, trackConversion: true },
    { key: 'deep/café', url: `${url}?a=1#b` },
    { key: 'locked', url: `https://acme.example/${SECRET}`, password: 'the right one', title: SECRET },
    { key: 'cloaked', url, rewrite: true, title: MARKS[host] },
    { key: 'shown', url, proxy: true, title: MARKS[host], description: '<b>"\'&' },
    { key: 'mail', url: `mailto:x@${MARKS[host]}.example` },
    { key: 'devices', url, ios: `${url}/ios`, android: `${url}/android`, geo: { US: `${url}/us` } },
    {
      key: 'tested',
      url,
      testVariants: [
        { url: `${url}/1`, percentage: 50 },
        { url: `${url}/2`, percentage: 50 },
      ],
      testCompletedAt: later,
    },
  ];
  for (const link of links) await catalog.links.create(workspace.id, { domain: host, ...link });
}

beforeAll(async () => {
  // A long timeout, because the test is not about the speed of ClickHouse.
  ingest = await startIngest({}, { redirectWaitMs: 15_000 });
  // A million requests fill the queue unless it is written.
  if (FAULTS.isLong) ingest.startWriter();
  for (const host of Object.keys(MARKS) as (keyof typeof MARKS)[]) await aWorkspace(host);
  const options = {
    logger: createLogger({ name: 'test', level: 'silent' }),
    docBase: 'http://docs.test',
    trustedProxies: ['127.0.0.0/8'],
    timeoutsMs: { headers: 400, request: 800, checkInterval: 100, unreadAnswer: 30_000 },
  };
  // For requests that must not time out: this process also sends them, and may be too busy to do so for a second.
  const patient = { ...options, timeoutsMs: { ...options.timeoutsMs, headers: 3_000, request: 4_000 } };
  for (const [name, app] of [
    ['links', buildLinkApp(options, ingest.deps)],
    ['track', buildTrackApp(options, ingest.deps)],
    ['patient', buildLinkApp(patient, ingest.deps)],
  ] as const) {
    await app.listen({ host: '127.0.0.1', port: 0 });
    ports[name] = (app.server.address() as AddressInfo).port;
    apps.push(app);
  }
}, 120_000);
afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  await ingest?.stop();
});

function send({ port, text }: { readonly port: keyof typeof ports; readonly text: string }): Promise<string> {
  const method = text.slice(0, text.indexOf(' '));
  return exchange(ports[port], Buffer.from(text, 'latin1'), (answer) => isWholeAnswer(answer, method));
}

/** The answers, in order. */
async function sendAll(requests: readonly RawRequest[]): Promise<string[]> {
  const answers: string[] = [];
  const left = requests.entries();
  const work = async () => {
    for (const [index, request] of left) answers[index] = await send(request);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return answers;
}

/** The fault of a response; undefined if it has none. */
function fault(request: RawRequest, answer: string): string | undefined {
  // No response means a closed connection, which is right for bytes that are not a request.
  const status = /^HTTP\/1\.1 (?:100 Continue\r\n\r\nHTTP\/1\.1 )?(\d{3})/.exec(answer)?.[1];
  if (answer !== '' && status === undefined) return 'no status';
  if (status !== undefined && Number(status) >= 500) return status;
  if (/^x-injected/im.test(answer)) return 'a header of the request’s own making';
  if (/^location: (?:https?:)?\/\/evil\.example/im.test(answer)) return 'an open redirect';
  if (answer.includes(SECRET)) return 'a locked link';
  if (/<script|"onload=/i.test(answer)) return 'markup of the request’s own making';
  for (const [host, mark] of Object.entries(MARKS)) {
    const isNamed =
      request.text.toLowerCase().includes(host) || keysOf.get(host)?.some((key) => request.text.includes(key));
    if (answer.includes(mark) && !isNamed) return `what belongs to ${host}`;
  }
  return undefined;
}

describe('hostile traffic', () => {
  it(
    `${BATCH * BATCHES} fuzzed requests: no response is faulty, and none has data of another workspace`,
    async () => {
      const known = {
        hosts: ['a.test', 'b.test', 'www.a.test', 'other.test'],
        keys: ['plain', 'deep/caf%C3%A9', 'locked', 'cloaked', 'shown', 'mail', 'devices', 'tested', 'absent', ''],
        tokens,
      };
      const statuses: Record<string, number> = {};
      let sent = 0;
      const batch = fc.array(rawRequests(known), { minLength: BATCH, maxLength: BATCH, size: 'max' });
      await fc.assert(
        fc.asyncProperty(batch, async (requests) => {
          const answers = await sendAll(requests);
          for (const [index, answer] of answers.entries()) {
            const request = requests[index] ?? { port: 'links', text: '' };
            const status = answer.slice(9, 12);
            statuses[status] = (statuses[status] ?? 0) + 1;
            const found = fault(request, answer);
            if (found !== undefined) {
              throw new Error(`${found}: ${JSON.stringify(request)} answered ${JSON.stringify(answer.slice(0, 600))}`);
            }
          }
          sent += requests.length;
          if (sent % PROGRESS_EVERY === 0) console.info(`${sent} requests answered: ${JSON.stringify(statuses)}`);
        }),
        // The error names the single failing request, not the whole batch.
        {
          numRuns: BATCHES,
          endOnFailure: true,
          reporter: ({ failed, errorInstance, seed }) => {
            if (failed) throw new Error(`seed ${seed}`, { cause: errorInstance });
          },
        },
      );
      // Enough requests are nearly valid, so that every rule is reached.
      for (const status of ['200', '302', '400', '401', '404', '422']) expect(statuses[status] ?? 0).toBeGreaterThan(0);
      const sane = `GET /plain HTTP/1.1\r\nHost: a.test\r\nUser-Agent: ${BROWSER}\r\nConnection: close\r\n\r\n`;
      await waitFor(async () => /^HTTP\/1\.1 302/.test(await send({ port: 'links', text: sane })), {
        what: 'a redirect',
      });
    },
    FUZZING_MS,
  );

  it('slow and oversized clients are disconnected', async () => {
    // `send` fails where it takes 20 s.
    const answers = await Promise.all(
      [
        'GET /plain HTTP/1.1\r\nHost: a.test\r\nX-Slow: ',
        'POST /track/click HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
        `GET /plain HTTP/1.1\r\nHost: a.test\r\nX-Big: ${'x'.repeat(200_000)}\r\n\r\n`,
        `GET /${'x'.repeat(200_000)} HTTP/1.1\r\nHost: a.test\r\n\r\n`,
        `POST /track/click HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n`,
        `POST /locked HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9000000\r\n\r\n`,
      ].map((text) => send({ port: 'patient', text })),
    );
    expect(answers.map((answer) => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])).toEqual([
      '400',
      '400',
      '431',
      '431',
      '400',
      '400',
    ]);
  });
});
