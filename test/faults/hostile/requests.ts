import fc from 'fast-check';

/** Existing names that a generated request may contain; the rest of it is random. */
export interface Known {
  readonly hosts: readonly string[];
  readonly keys: readonly string[];
  readonly tokens: readonly string[];
}

/** A request as bytes on a socket. */
export interface RawRequest {
  readonly text: string;
  readonly port: 'links' | 'track';
}

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const percentEncoded = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map((text) => encodeURIComponent(Buffer.from(text).toString('utf8')));
/** Sometimes random bytes: the HTTP parser refuses most such requests. */
const bytes = fc.oneof(
  {
    arbitrary: fc.string({ unit: 'grapheme-ascii', maxLength: 20 }).map((text) => text.replace(/[\s#]/g, '')),
    weight: 40,
  },
  fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 30 }),
);
const oddPart = oneOf(
  '%00',
  '%0d%0aX-Injected:%201',
  '%ff%fe',
  '..',
  '%2e%2e%2f',
  '//evil.example',
  '\\evil.example',
  '%c0%af',
  '.php',
  '.well-known/x',
  '.well-known/assetlinks.json',
  '__proto__',
  'constructor',
  '%F0%9F%98%80',
  'xn--',
  'xn--a-0',
  '_root',
  '+',
  '%',
  ';',
  '<script>alert(1)</script>',
  '"onload="x',
  'x'.repeat(3000),
);

function paths(keys: readonly string[]): fc.Arbitrary<string> {
  const key = fc.constantFrom(...keys);
  const known = fc.tuple(key, fc.boolean()).map(([text, isUpper]) => (isUpper ? text.toUpperCase() : text));
  const part = fc.oneof({ arbitrary: known, weight: 8 }, oddPart, percentEncoded, bytes);
  return fc.array(part, { minLength: 1, maxLength: 2 }).map((parts) => `/${parts.join('/')}`);
}

const parameterName = oneOf(
  'pw',
  'qr',
  'bot',
  'redir_url',
  'dub-no-track',
  'via',
  'dub_id',
  'utm_source',
  'a',
  '',
  '%',
);
const parameterValue = fc.oneof(
  oneOf(
    '',
    '1',
    'https://acme.example/x',
    'https://evil.example/',
    '//evil.example',
    'javascript:alert(1)',
    '%0d%0aX-Injected:1',
  ),
  percentEncoded,
  bytes,
);
const queries = fc
  .array(
    fc.tuple(parameterName, parameterValue).map(([name, value]) => `${name}=${value}`),
    { maxLength: 6 },
  )
  .map((pieces) => (pieces.length === 0 ? '' : `?${pieces.join('&')}`));

const agents = oneOf(
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36',
  'facebookexternalhit/1.1',
  '',
  'x'.repeat(2000),
);

const HEADER_NAMES = [
  ...[
    'Cookie',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Proto',
    'Forwarded',
    'Referer',
    'Origin',
    'Purpose',
  ],
  ...['Sec-Purpose', 'CF-IPCountry', 'X-Vercel-IP-City', 'Accept-Encoding', 'Expect', 'Upgrade', 'Connection', 'Range'],
  ...['Dub-No-Track', 'X-Request-Id', 'If-None-Match', 'Content-Encoding', '__proto__', 'X-HTTP-Method-Override'],
];
const headerValue = fc.oneof(
  oneOf(
    '203.0.113.7',
    '203.0.113.7, 10.0.0.1',
    '1.2.3.4'.repeat(200),
    'unknown',
    'US',
    'toString',
    'San%20Jos%C3%A9',
    'prefetch',
    'websocket',
    '100-continue',
    'https://evil.example/"><script>',
    'dub_password_link_00000000000=x; dub_test_url=https%3A%2F%2Fevil.example',
    'a=b; '.repeat(300),
  ),
  bytes,
);
const headers = fc
  .array(
    fc
      .tuple(fc.constantFrom(...HEADER_NAMES), headerValue)
      .map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, '')}`),
    { maxLength: 6 },
  )
  .map((lines) => lines.join('\r\n'));

function hosts(known: readonly string[]): fc.Arbitrary<string[]> {
  const one = fc.oneof(
    { arbitrary: fc.constantFrom(...known), weight: 8 },
    oneOf(
      '',
      'WWW.A.test:80',
      'a.test/x',
      'a.test\\x',
      'a.test@b.test',
      '[::1]',
      'a.test.',
      '..',
      '-',
      'x'.repeat(400),
    ),
    bytes.map((text) => text.replace(/[\r\n]/g, '')),
  );
  return fc.oneof({ arbitrary: one.map((host) => [host]), weight: 20 }, fc.array(one, { maxLength: 3 }));
}

const NEARLY_VALID_FIELDS = {
  domain: oneOf('a.test', 'https://b.test/x', 'http://', ''),
  key: oneOf('plain', 'absent', '\u0000', ''),
  url: oneOf('https://a.test/plain', 'javascript:1', 'no', ''),
  deepLink: oneOf('https://a.test/plain', 'x:', ''),
  dubDomain: oneOf('a.test', ''),
  clickId: fc.oneof(fc.string({ maxLength: 20 }), fc.constant('0'.repeat(16))),
  eventName: fc.string({ unit: 'binary', maxLength: 20 }),
  customerExternalId: fc.string({ unit: 'binary', maxLength: 20 }),
  amount: fc.oneof(fc.integer(), fc.double(), fc.string({ maxLength: 5 })),
  currency: oneOf('usd', 'EUR', 'xxx', '', 'toString'),
  invoiceId: fc.string({ unit: 'binary', maxLength: 10 }),
  eventQuantity: fc.integer({ min: -1, max: 101 }),
  metadata: fc.oneof(
    fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })),
    fc.jsonValue({ maxDepth: 1 }),
  ),
  mode: oneOf('async', 'wait', 'deferred', 'never'),
};
/** Any subset of the fields, or all of them: without the required ones, no rule of the others is reached. */
const nearlyValidBodies = fc
  .oneof(fc.record(NEARLY_VALID_FIELDS, { requiredKeys: [] }), fc.record(NEARLY_VALID_FIELDS))
  // The request is text of one character a byte.
  .map((body) => Buffer.from(JSON.stringify(body)).toString('latin1'));

const jsonBodies = fc.oneof(
  // Most are nearly valid, so that in a few thousand requests some reach the rules of each field.
  { arbitrary: nearlyValidBodies, weight: 8 },
  fc.json({ maxDepth: 3 }),
  oneOf(
    '',
    '{',
    '[]',
    'null',
    '['.repeat(5000),
    '{"a":'.repeat(2000),
    '{"__proto__":{"x":1},"key":"plain","domain":"a.test"}',
  ),
  bytes,
);
const formBodies = fc.oneof(
  percentEncoded.map((password) => `password=${password}`),
  bytes,
  oneOf('password', 'password=%', `password=${'x'.repeat(20_000)}`),
);

const trackPath = oneOf(
  ...['click', 'open', 'visit', 'lead', 'sale', 'lead/client', 'sale/client', 'nothing', '', '%'].map(
    (what) => `/track/${what}`,
  ),
);

/** Content-Length matches the body in most cases. */
function framing(body: string, kind: number): string {
  if (kind === 0) return `Content-Length: ${body.length + 7}`;
  if (kind === 1) return 'Transfer-Encoding: chunked';
  if (kind === 2) return `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`;
  if (kind === 3) return 'Content-Length: -1';
  return `Content-Length: ${body.length}`;
}

/** Valid and invalid requests of every kind, most of them similar to requests of existing routes. */
export function rawRequests(known: Known): fc.Arbitrary<RawRequest> {
  const target = fc.oneof(
    { arbitrary: fc.tuple(paths(known.keys), queries).map(([path, query]) => path + query), weight: 12 },
    fc
      .tuple(fc.constantFrom(...known.hosts, 'a.test@b.test', ''), paths(known.keys))
      .map(([host, path]) => `http://${host}${path}`),
    oneOf('*', '', '?', '#', 'a.test:80', '/'),
  );
  const visit = fc
    .record({
      method: fc.oneof(
        { arbitrary: oneOf('GET', 'GET', 'HEAD'), weight: 20 },
        oneOf('PUT', 'DELETE', 'TRACE', 'get', 'G T', ''),
      ),
      target,
      names: hosts(known.hosts),
      agent: agents,
      others: headers,
    })
    .map(({ method, target: path, names, agent, others }): RawRequest => {
      const lines = [`${method} ${path} HTTP/1.1`, ...names.map((name) => `Host: ${name}`), `User-Agent: ${agent}`];
      return { port: 'links', text: [...lines, ...(others === '' ? [] : [others]), '', ''].join('\r\n') };
    });
  const post = fc
    .record({
      port: oneOf<RawRequest['port']>('links', 'track'),
      isForm: fc.boolean(),
      json: jsonBodies,
      form: formBodies,
      trackTarget: trackPath,
      linkTarget: target,
      names: hosts(known.hosts),
      token: fc.constantFrom(...known.tokens),
      type: oneOf('application/json', 'application/json', 'application/json; charset=x', 'text/plain', ''),
      frame: fc.integer({ min: 0, max: 60 }),
      others: headers,
    })
    .map(({ port, isForm, names, token, frame, others, ...request }): RawRequest => {
      const body = isForm ? request.form : request.json;
      const lines = [
        `POST ${isForm ? request.linkTarget : request.trackTarget} HTTP/1.1`,
        ...names.map((name) => `Host: ${name}`),
        `Content-Type: ${isForm ? 'application/x-www-form-urlencoded' : request.type}`,
        `Authorization: Bearer ${token}`,
        framing(body, frame),
        ...(others === '' ? [] : [others]),
      ];
      return { port, text: `${lines.join('\r\n')}\r\n\r\n${body}` };
    });
  return fc.oneof({ arbitrary: visit, weight: 3 }, { arbitrary: post, weight: 2 });
}
