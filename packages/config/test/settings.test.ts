import { join, resolve } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { describeSettings, loadSettings, SettingsError } from '../src/index.js';

function problems(env: Record<string, string>): readonly string[] {
  try {
    loadSettings(env);
  } catch (err) {
    if (err instanceof SettingsError) return err.problems;
    throw err;
  }
  return [];
}

describe('placeholders of templates', () => {
  const elsewhere = { CLICKHOUSE_URL: 'http://store:8123' };

  it.each([
    ['REDIS_URL', { REDIS_URL: 'redis://:change-me-redis@redis:6379' }],
    ['REDIS_URL', { REDIS_URL: 'redis://:CHANGE-ME@redis:6379' }],
    ['REDIS_URL', { REDIS_URL: 'redis://:change%2Dme-redis@redis:6379' }],
    ['REDIS_URL', { REDIS_URL: 'redis://:%63%68ange-me@redis:6379' }],
    ['REDIS_URL', { REDIS_URL: `redis://:${'0'.repeat(32)}@redis:6379` }],
    ['CLICKHOUSE_URL', { CLICKHOUSE_URL: 'http://waymark:changeme@store:8123' }],
    ['CLICKHOUSE_URL', { CLICKHOUSE_URL: 'http://waymark:change%6de@store:8123' }],
    ['CLICKHOUSE_URL', { CLICKHOUSE_URL: `http://waymark:${'%30'.repeat(64)}@store:8123` }],
    ['CLICKHOUSE_PASSWORD', { ...elsewhere, CLICKHOUSE_PASSWORD: 'change-me-clickhouse' }],
    ['INSTANCE_KEY', { INSTANCE_KEY: '0'.repeat(64) }],
    ['INSTANCE_KEY', { INSTANCE_KEY: 'F'.repeat(64) }],
    ['INSTANCE_KEY_NEXT', { INSTANCE_KEY_NEXT: '0'.repeat(64) }],
    ['INSTANCE_KEY_PREVIOUS', { INSTANCE_KEY_PREVIOUS: '0'.repeat(64) }],
    ['ADMIN_KEY', { ADMIN_KEY: 'change-me-change-me-change-me-change-me' }],
    ['ADMIN_KEY_PREVIOUS', { ADMIN_KEY_PREVIOUS: 'change-me-change-me-change-me-change-me' }],
  ])('%s with a placeholder is refused with an error that names the setting and hides the value: %o', (name, env) => {
    const [problem = '', ...others] = problems(env);
    expect(problem).toMatch(new RegExp(`^${name}: .*placeholder`));
    expect(problem).not.toMatch(/change|0000|%/i);
    expect(others).toEqual([]);
  });
});

describe('loadSettings', () => {
  it('works with an empty environment', () => {
    expect(loadSettings({})).toEqual({
      host: '127.0.0.1',
      exportBytesMax: 5 * 1024 ** 3,
      importBytesMax: 4 * 1024 ** 3,
      erasureGatherMs: 3_600_000,
      apiPort: 3000,
      linkPort: 3001,
      writerPort: 3002,
      dataDir: resolve('data'),
      redisUrl: undefined,
      otherQueueShards: [],
      redisMaxmemoryMb: 512,
      redisWaitReplicas: 0,
      spoolBytesMax: 1024 ** 3,
      clickhouseUrl: undefined,
      clickhouseUser: undefined,
      clickhousePassword: undefined,
      clickhouseDatabase: 'waymark',
      clickhouseCluster: undefined,
      clickhouseEventsQuorum: false,
      clickhouseSessions: 8,
      defaultDomain: undefined,
      baseUrl: 'http://127.0.0.1:3000',
      docBase: 'http://127.0.0.1:3000/docs',
      requireHttps: false,
      trustedProxies: ['127.0.0.0/8', '::1/128'],
      outboundAllowedRanges: [],
      geoDatabase: undefined,
      geoEdge: undefined,
      geoHeaders: { country: undefined, city: undefined, region: undefined, continent: undefined },
      anonymisedAddresses: 'eu',
      addressRetentionDays: undefined,
      eventRetentionDays: undefined,
      instanceKey: undefined,
      instanceKeyNext: undefined,
      instanceKeyPrevious: undefined,
      adminKey: undefined,
      adminKeyPrevious: undefined,
      currencyRatesFile: undefined,
      otlpEndpoint: undefined,
      otlpHeaders: {},
      tracedShare: 1,
      shutdownDeadlineMs: 25_000,
      logLevel: 'info',
    });
  });

  it('listens on one address with HOST=localhost, because its limits on connections apply to one', () => {
    expect(loadSettings({ HOST: 'localhost' })).toMatchObject({ host: '127.0.0.1', baseUrl: 'http://127.0.0.1:3000' });
  });

  it('reads the value of every setting', () => {
    const [file, rates] = [import.meta.filename, join(import.meta.dirname, 'run-state.test.ts')];
    const settings = loadSettings({
      ...{ HOST: '0.0.0.0', API_PORT: '8080', LINK_PORT: '8081', WRITER_PORT: '8082', DATA_DIR: '/var/lib/waymark' },
      ...{ EXPORTS_MAX_MB: '7', IMPORTS_MAX_MB: '8', ERASURE_GATHER_MINUTES: '9' },
      ...{ REDIS_URL: 'redis://:secret@cache:6379/2', QUEUE_SHARDS: 'redis://queue:6379', REDIS_WAIT_REPLICAS: '2' },
      ...{ SPOOL_MAX_MB: '17', REDIS_MAXMEMORY_MB: '18' },
      ...{ CLICKHOUSE_URL: 'http://clickhouse:8123/', CLICKHOUSE_USER: 'bob', CLICKHOUSE_PASSWORD: 'hunter2' },
      ...{ CLICKHOUSE_DATABASE: 'links', CLICKHOUSE_CLUSTER: 'main', CLICKHOUSE_EVENTS_QUORUM: 'true' },
      ...{ CLICKHOUSE_SESSIONS: '3', MOVE_TO_PASSWORD: 'hunter3', IMPORT_CREDENTIAL: 'hunter4' },
      ...{ DEFAULT_DOMAIN: 'Go.Acme.com', BASE_URL: 'https://api.acme.com/v1/', DOC_BASE: 'https://docs.acme.com/' },
      ...{ REQUIRE_HTTPS: 'TRUE', TRUSTED_PROXIES: ' 10.0.0.0/8, 192.168.1.7 ,fd00::/8' },
      ...{ OUTBOUND_ALLOWED_RANGES: 'none', GEO_DATABASE: file, GEO_EDGE: 'cloudflare' },
      ...{ GEO_COUNTRY_HEADER: 'X-Country', GEO_CITY_HEADER: 'X-City' },
      ...{ GEO_REGION_HEADER: 'X-Region', GEO_CONTINENT_HEADER: 'X-Continent' },
      ...{ ANONYMISE_ADDRESSES: 'all', ADDRESS_RETENTION_DAYS: '30', EVENT_RETENTION_DAYS: '31' },
      ...{ INSTANCE_KEY: 'AB'.repeat(32), INSTANCE_KEY_NEXT: 'ac'.repeat(32), INSTANCE_KEY_PREVIOUS: 'ad'.repeat(32) },
      ...{ ADMIN_KEY: 'ae'.repeat(16), ADMIN_KEY_PREVIOUS: 'af'.repeat(16), CURRENCY_RATES_FILE: rates },
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://traces:4318/', OTEL_EXPORTER_OTLP_HEADERS: 'a=b' },
      ...{ OTEL_TRACES_SAMPLER_ARG: '0.5', SHUTDOWN_DEADLINE_MS: '1000', LOG_LEVEL: 'silent' },
    });
    expect(settings).toEqual({
      ...{ host: '0.0.0.0', apiPort: 8080, linkPort: 8081, writerPort: 8082, dataDir: '/var/lib/waymark' },
      ...{ exportBytesMax: 7 * 1024 ** 2, importBytesMax: 8 * 1024 ** 2, erasureGatherMs: 540_000 },
      ...{ redisUrl: 'redis://:secret@cache:6379/2', otherQueueShards: ['redis://queue:6379'], redisWaitReplicas: 2 },
      ...{ spoolBytesMax: 17 * 1024 ** 2, redisMaxmemoryMb: 18 },
      ...{ clickhouseUrl: 'http://clickhouse:8123', clickhouseUser: 'bob', clickhousePassword: 'hunter2' },
      ...{ clickhouseDatabase: 'links', clickhouseCluster: 'main', clickhouseEventsQuorum: true },
      ...{ clickhouseSessions: 3, moveToPassword: 'hunter3', importCredential: 'hunter4' },
      ...{ defaultDomain: 'go.acme.com', baseUrl: 'https://api.acme.com/v1', docBase: 'https://docs.acme.com' },
      ...{ requireHttps: true, trustedProxies: ['10.0.0.0/8', '192.168.1.7', 'fd00::/8'] },
      ...{ outboundAllowedRanges: ['none'], geoDatabase: file, geoEdge: 'cloudflare' },
      geoHeaders: { country: 'x-country', city: 'x-city', region: 'x-region', continent: 'x-continent' },
      ...{ anonymisedAddresses: 'all', addressRetentionDays: 30, eventRetentionDays: 31 },
      ...{ instanceKey: 'AB'.repeat(32), instanceKeyNext: 'ac'.repeat(32), instanceKeyPrevious: 'ad'.repeat(32) },
      ...{ adminKey: 'ae'.repeat(16), adminKeyPrevious: 'af'.repeat(16), currencyRatesFile: rates },
      ...{ otlpEndpoint: 'http://traces:4318', otlpHeaders: { a: 'b' } },
      ...{ tracedShare: 0.5, shutdownDeadlineMs: 1000, logLevel: 'silent' },
    });
    const defaults: Record<string, unknown> = loadSettings({});
    for (const [name, value] of Object.entries(settings)) expect(value, name).not.toEqual(defaults[name]);
  });

  it.each(
    Object.entries({
      ...{ EXPORTS_MAX_MB: [1, 1_048_576], IMPORTS_MAX_MB: [1, 1_048_576], ERASURE_GATHER_MINUTES: [0, 1200] },
      ...{ REDIS_WAIT_REPLICAS: [0, 10], SPOOL_MAX_MB: [16, 1_048_576], REDIS_MAXMEMORY_MB: [16, 1_048_576] },
      ...{ CLICKHOUSE_SESSIONS: [1, 64], SHUTDOWN_DEADLINE_MS: [1000, 600_000] },
      ...{ ADDRESS_RETENTION_DAYS: [1, 36_500], EVENT_RETENTION_DAYS: [31, 36_500] },
    }),
  )('%s has a least and a greatest value: %o', (name, [least = 0, most = 0]) => {
    const problemsWith = (value: number) => problems({ REDIS_URL: 'redis://cache', [name]: String(value) });
    expect([least, most].flatMap(problemsWith)).toEqual([]);
    for (const value of [least - 1, most + 1, least + 0.5]) {
      expect(problemsWith(value)).toEqual([expect.stringContaining(`${name}: must be `)]);
    }
  });

  it('reads addresses of stores on unix sockets, and masks their passwords', () => {
    const settings = loadSettings({
      REDIS_URL: 'redis+unix://:hunter2@localhost/run/redis.sock?db=1',
      QUEUE_SHARDS: 'redis+unix:///run/a,b.sock,redis+unix://:hunter3@localhost/run/c.sock',
      CLICKHOUSE_URL: 'http+unix://default:hunter4@localhost/run/clickhouse.sock',
    });
    expect(settings).toMatchObject({
      redisUrl: 'redis+unix://:hunter2@localhost/run/redis.sock?db=1',
      otherQueueShards: ['redis+unix:///run/a,b.sock', 'redis+unix://:hunter3@localhost/run/c.sock'],
      clickhouseUrl: 'http+unix://default:hunter4@localhost/run/clickhouse.sock',
    });
    expect(describeSettings(settings)).toMatchObject({
      redisUrl: 'redis+unix://:***@localhost/run/redis.sock?db=***',
      otherQueueShards: ['redis+unix:///run/a,b.sock', 'redis+unix://:***@localhost/run/c.sock'],
      clickhouseUrl: 'http+unix://default:***@localhost/run/clickhouse.sock',
    });
  });

  it('treats an empty variable as absent, because compose files pass unset ones as empty', () => {
    expect(loadSettings({ API_PORT: '', REDIS_URL: '  ' })).toEqual(loadSettings({}));
  });

  it('names every invalid variable at once and never shows a value', () => {
    const found = problems({
      API_PORT: '80x',
      LINK_PORT: '70000',
      REDIS_URL: 'cache:hunter2',
      INSTANCE_KEY: 'hunter2',
      INSTANCE_KEY_NEXT: 'hunter2',
      INSTANCE_KEY_PREVIOUS: 'hunter2',
      ADMIN_KEY: 'hunter2',
      ADMIN_KEY_PREVIOUS: 'hunter2',
      TRUSTED_PROXIES: '10.0.0.0/33',
      OUTBOUND_ALLOWED_RANGES: 'none, 10.0.0.0/8',
      LOG_LEVEL: 'loud',
      REQUIRE_HTTPS: 'perhaps',
    });
    expect(found.map((problem) => problem.split(':')[0])).toEqual([
      'API_PORT',
      'LINK_PORT',
      'REDIS_URL',
      'REQUIRE_HTTPS',
      'TRUSTED_PROXIES',
      'OUTBOUND_ALLOWED_RANGES',
      'INSTANCE_KEY',
      'INSTANCE_KEY_NEXT',
      'INSTANCE_KEY_PREVIOUS',
      'ADMIN_KEY',
      'ADMIN_KEY_PREVIOUS',
      'LOG_LEVEL',
    ]);
    expect(found.join('\n')).not.toContain('hunter2');
  });

  it.each([
    ['two services on one port', { API_PORT: '3001' }, 'LINK_PORT'],
    ['the writer on the API port', { WRITER_PORT: '3000' }, 'WRITER_PORT'],
    ['a ClickHouse password without a ClickHouse', { CLICKHOUSE_PASSWORD: 'x' }, 'CLICKHOUSE_PASSWORD'],
    ['replicas of its own Redis, which has none', { REDIS_WAIT_REPLICAS: '1' }, 'REDIS_WAIT_REPLICAS'],
    ['a majority of replicas without a cluster', { CLICKHOUSE_EVENTS_QUORUM: 'true' }, 'CLICKHOUSE_EVENTS_QUORUM'],
    ['a ClickHouse user without a ClickHouse', { CLICKHOUSE_USER: 'bob' }, 'CLICKHOUSE_USER'],
    [
      'a ClickHouse user given twice',
      { CLICKHOUSE_URL: 'http://a@store:8123', CLICKHOUSE_USER: 'bob' },
      'CLICKHOUSE_USER',
    ],
    ['a cluster name for the embedded store', { CLICKHOUSE_CLUSTER: 'main' }, 'CLICKHOUSE_CLUSTER'],
    [
      'a ClickHouse password given twice',
      { CLICKHOUSE_URL: 'http://a:b@store:8123', CLICKHOUSE_PASSWORD: 'x' },
      'CLICKHOUSE_PASSWORD',
    ],
    ['a path in the address of ClickHouse', { CLICKHOUSE_URL: 'http://store:8123/waymark' }, 'CLICKHOUSE_URL'],
    ['a socket of another host', { CLICKHOUSE_URL: 'http+unix://store/run/clickhouse.sock' }, 'CLICKHOUSE_URL'],
    ['a socket without a path', { CLICKHOUSE_URL: 'http+unix://localhost/' }, 'CLICKHOUSE_URL'],
    ['a fragment in the address of ClickHouse', { CLICKHOUSE_URL: 'http://store:8123/#a' }, 'CLICKHOUSE_URL'],
    ['parameters in the address of ClickHouse', { CLICKHOUSE_URL: 'http://store:8123/?a=1' }, 'CLICKHOUSE_URL'],
    ['a plain public address when HTTPS is required', { REQUIRE_HTTPS: 'true', BASE_URL: 'http://a.com' }, 'BASE_URL'],
    ['a public address with a query', { BASE_URL: 'https://a.com/?b=1' }, 'BASE_URL'],
    ['a URL as a domain', { DEFAULT_DOMAIN: 'https://go.acme.com' }, 'DEFAULT_DOMAIN'],
    ['a domain that begins with www., which redirects leave out', { DEFAULT_DOMAIN: 'WWW.acme.com' }, 'DEFAULT_DOMAIN'],
    ['the port of HTTPS, which browsers leave out', { DEFAULT_DOMAIN: 'go.acme.com:443' }, 'DEFAULT_DOMAIN'],
    ['a port above 65535', { DEFAULT_DOMAIN: 'go.acme.com:65536' }, 'DEFAULT_DOMAIN'],
    ['a port below 1', { DEFAULT_DOMAIN: 'go.acme.com:0' }, 'DEFAULT_DOMAIN'],
    ['the port of HTTP, which browsers leave out', { DEFAULT_DOMAIN: 'go.acme.com:80' }, 'DEFAULT_DOMAIN'],
    ['a port that no server has', { DEFAULT_DOMAIN: 'go.acme.com:99999' }, 'DEFAULT_DOMAIN'],
    ['a domain with an empty part', { DEFAULT_DOMAIN: 'a..b' }, 'DEFAULT_DOMAIN'],
    ['a database name with a quote in it', { CLICKHOUSE_DATABASE: 'a`b' }, 'CLICKHOUSE_DATABASE'],
    ['an unknown group of visitors', { ANONYMISE_ADDRESSES: 'us' }, 'ANONYMISE_ADDRESSES'],
    ['events for less than a month', { EVENT_RETENTION_DAYS: '7' }, 'EVENT_RETENTION_DAYS'],
    ['invalid headers', { OTEL_EXPORTER_OTLP_HEADERS: 'a=b,c' }, 'OTEL_EXPORTER_OTLP_HEADERS'],
    ['a header with a line break', { OTEL_EXPORTER_OTLP_HEADERS: 'a=b%0d%0ac:d' }, 'OTEL_EXPORTER_OTLP_HEADERS'],
    ['more than all requests', { OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'OTEL_TRACES_SAMPLER_ARG'],
    ['an unknown edge', { GEO_EDGE: 'akamai' }, 'GEO_EDGE'],
    ['the header of a city without a country', { GEO_CITY_HEADER: 'x-city' }, 'GEO_CITY_HEADER'],
    ['a header name with a line break', { GEO_COUNTRY_HEADER: 'x\r\ny' }, 'GEO_COUNTRY_HEADER'],
  ])('refuses %s', (_what, env, variable) => {
    expect(problems(env)).toEqual([expect.stringContaining(`${variable}: `)]);
  });

  describe.each([
    ['REDIS_URL', 'redis+unix', {}],
    ['QUEUE_SHARDS', 'redis+unix', { REDIS_URL: 'redis://one:6379' }],
    ['CLICKHOUSE_URL', 'http+unix', {}],
  ])('the unix socket in %s', (name, scheme, others) => {
    const problemsWith = (url: string) =>
      problems({ ...others, [name]: url }).map((problem) => problem.replace('.0:', ':'));

    it('has a path that the system does not truncate', () => {
      expect(problemsWith(`${scheme}://localhost/${'a'.repeat(106)}`)).toEqual([]);
      const rule = `${name}: has a path of more than 107 bytes or with a NUL, which no socket can have`;
      expect(problemsWith(`${scheme}://localhost/${'a'.repeat(107)}`)).toEqual([rule]);
      expect(problemsWith(`${scheme}://localhost/${'%C3%A4'.repeat(54)}`)).toEqual([rule]);
      expect(problemsWith(`${scheme}://localhost/run/a%00b.sock`)).toEqual([rule]);
    });

    it('may be given without a host, and with no host but localhost', () => {
      expect(problemsWith(`${scheme}:///run/store.sock`)).toEqual([]);
      expect(problemsWith(`${scheme}://store/run/store.sock`)).toEqual([expect.stringContaining(`${name}: must `)]);
    });
  });

  it.each([
    ['REDIS_URL', 'redis://:50%hunter2@cache:6379'],
    ['REDIS_URL', 'redis+sentinel://50%:hunter2@cache/name'],
    ['REDIS_URL', 'redis+unix://localhost/run/50%hunter2.sock'],
    ['CLICKHOUSE_URL', 'http://user:50%hunter2@store:8123'],
    ['CLICKHOUSE_URL', 'https://50%:hunter2@store:8443'],
    ['CLICKHOUSE_URL', 'http+unix://localhost/run/50%hunter2.sock'],
  ])('refuses an escape without two hexadecimal digits in %s: %s', (name, url) => {
    expect(problems({ [name]: url })).toEqual([`${name}: has a % that begins no escape: write %25 for a % itself`]);
  });

  it('refuses a cluster behind a unix socket, which leads to one of its servers only', () => {
    const CLICKHOUSE_URL = 'http+unix://localhost/run/clickhouse.sock';
    expect(problems({ CLICKHOUSE_URL, CLICKHOUSE_CLUSTER: 'main' })).toEqual([
      'CLICKHOUSE_CLUSTER: needs a host in CLICKHOUSE_URL: a unix socket leads to one server only',
    ]);
  });

  it('reads headers for traces in OpenTelemetry format', () => {
    const env = {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=b, x-team=one%2Ctwo',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    };
    expect(loadSettings(env)).toMatchObject({
      otlpHeaders: { authorization: 'Bearer a=b', 'x-team': 'one,two' },
      tracedShare: 0.25,
    });
  });

  it('accepts port 0 for every port, so that the system chooses them', () => {
    const settings = loadSettings({ API_PORT: '0', LINK_PORT: '0', WRITER_PORT: '0' });
    expect(settings).toMatchObject({ apiPort: 0, linkPort: 0, writerPort: 0 });
  });

  it.each([
    ['0.0.0.0', 'http://127.0.0.1:3000'],
    ['::', 'http://[::1]:3000'],
    ['::1', 'http://[::1]:3000'],
    ['10.1.2.3', 'http://10.1.2.3:3000'],
  ])('gives a reachable base URL for host %s', (host, expected) => {
    expect(loadSettings({ HOST: host }).baseUrl).toBe(expected);
  });
});

describe('QUEUE_SHARDS', () => {
  const REDIS_URL = 'redis://:secret@one:6379';
  const SENTINEL = 'redis+sentinel://a:26379,b/queue-2/0';
  const shardsOf = (QUEUE_SHARDS: string) => loadSettings({ REDIS_URL, QUEUE_SHARDS }).otherQueueShards;

  it('lists the shards from 1 on, whether or not it begins with REDIS_URL', () => {
    expect(shardsOf('redis://two:6379, rediss://three:6379')).toEqual(['redis://two:6379', 'rediss://three:6379']);
    expect(shardsOf(`${REDIS_URL},redis://two:6379`)).toEqual(['redis://two:6379']);
    expect(shardsOf(REDIS_URL)).toEqual([]);
  });

  it('has at most 64 shards besides REDIS_URL', () => {
    const shards = (count: number) => Array.from({ length: count }, (_, index) => `redis://q${index}`).join();
    expect(shardsOf(shards(64))).toHaveLength(64);
    expect(() => shardsOf(shards(65))).toThrow('QUEUE_SHARDS: must have at most 64 entries');
  });

  it('may name Sentinels and cluster nodes, whose URLs have commas of their own', () => {
    expect(shardsOf(`${SENTINEL},redis+cluster://c,d,redis://two`)).toEqual([
      SENTINEL,
      'redis+cluster://c,d',
      'redis://two',
    ]);
  });

  it.each([
    [{ QUEUE_SHARDS: 'redis://two' }, 'needs REDIS_URL'],
    [{ REDIS_URL, QUEUE_SHARDS: 'redis://two,redis://two' }, 'names a Redis twice'],
    [{ REDIS_URL, QUEUE_SHARDS: `redis://two,${REDIS_URL}` }, 'names a Redis twice'],
    [{ REDIS_URL, QUEUE_SHARDS: 'two:6379' }, 'must be a URL'],
    [{ REDIS_URL, QUEUE_SHARDS: 'redis://two,redis+sentinel://a,b' }, 'must end with the master'],
    [{ REDIS_URL, QUEUE_SHARDS: 'redis://two,redis://:change-me@three' }, 'placeholder'],
  ])('is refused: %o', (environment, message) => {
    expect(() => loadSettings(environment)).toThrow(`QUEUE_SHARDS`);
    expect(() => loadSettings(environment)).toThrow(message);
  });
});

test.each([import.meta.filename, `${import.meta.filename}/data/below`])(
  'DATA_DIR cannot be %s, of which a part is a file',
  (DATA_DIR) => {
    expect(problems({ DATA_DIR })).toEqual([expect.stringMatching(/^DATA_DIR: must be a directory/)]);
  },
);

describe('describeSettings', () => {
  it('shows the settings with secrets masked', () => {
    const shown = describeSettings(
      loadSettings({
        REDIS_URL: 'redis://default:hunter2@cache:6379/0',
        QUEUE_SHARDS: 'redis://:hunter6@queue:6379,redis+sentinel://:hunter7@a,b/queue',
        CLICKHOUSE_URL: 'https://bob@store:8443',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://traces:4318/?key=hunter3&user=bob',
        CLICKHOUSE_PASSWORD: 'hunter4',
        MOVE_TO_PASSWORD: 'hunter8',
        IMPORT_CREDENTIAL: 'hunter9',
        INSTANCE_KEY: 'ab'.repeat(32),
        INSTANCE_KEY_NEXT: 'ac'.repeat(32),
        INSTANCE_KEY_PREVIOUS: 'ad'.repeat(32),
        ADMIN_KEY: 'cd'.repeat(16),
        ADMIN_KEY_PREVIOUS: 'ce'.repeat(16),
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter5',
      }),
    );
    expect(shown).toMatchObject({
      apiPort: 3000,
      redisUrl: 'redis://default:***@cache:6379/0',
      otherQueueShards: ['redis://:***@queue:6379', 'redis+sentinel://:***@a,b/queue'],
      clickhouseUrl: 'https://bob@store:8443',
      otlpEndpoint: 'https://traces:4318/?key=***&user=***',
      clickhousePassword: '***',
      instanceKey: '***',
      instanceKeyNext: '***',
      instanceKeyPrevious: '***',
      adminKey: '***',
      adminKeyPrevious: '***',
      otlpHeaders: '***',
      geoDatabase: null,
    });
    expect(JSON.stringify(shown)).not.toMatch(/hunter|abab|acac|adad|cdcd|cece/);
  });
});
