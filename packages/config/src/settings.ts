import { type ClickHouseAddress, parseClickHouseAddress } from '@waymark/clickhouse';
import { z } from 'zod';
import { SettingsError } from './settings-error.js';
import {
  addressRanges,
  addressRangesOrNone,
  adminKey,
  clickHouseUrl,
  directory,
  flag,
  headerList,
  headerName,
  hexKey,
  linkHost,
  port,
  publicUrl,
  readableFile,
  redisUrl,
  redisUrls,
  share,
  url,
  wholeNumber,
} from './value-types.js';

/** The type of each environment variable. Every variable has a default or is optional. */
const environmentSchema = z.object({
  // Fastify would listen on `localhost` with a second server for its other address, to which no limit on connections applies.
  HOST: z
    .string()
    .default('127.0.0.1')
    .transform((host) => (host === 'localhost' ? '127.0.0.1' : host)),
  API_PORT: port.default(3000),
  LINK_PORT: port.default(3001),
  WRITER_PORT: port.default(3002),
  DATA_DIR: directory.prefault('./data'),
  EXPORTS_MAX_MB: wholeNumber(1, 1_048_576).default(5120),
  IMPORTS_MAX_MB: wholeNumber(1, 1_048_576).default(4096),
  ERASURE_GATHER_MINUTES: wholeNumber(0, 1200).default(60),

  REDIS_URL: redisUrl.optional(),
  QUEUE_SHARDS: redisUrls.optional(),
  REDIS_WAIT_REPLICAS: wholeNumber(0, 10).default(0),
  SPOOL_MAX_MB: wholeNumber(16, 1_048_576).default(1024),
  REDIS_MAXMEMORY_MB: wholeNumber(16, 1_048_576).default(512),

  CLICKHOUSE_URL: clickHouseUrl.optional(),
  CLICKHOUSE_USER: z.string().optional(),
  CLICKHOUSE_PASSWORD: z.string().optional(),
  CLICKHOUSE_DATABASE: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'must be letters, digits and underscores')
    .default('waymark'),
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must be letters, digits, underscores and dashes')
    .optional(),
  CLICKHOUSE_EVENTS_QUORUM: flag.default(false),
  CLICKHOUSE_SESSIONS: wholeNumber(1, 64).default(8),
  MOVE_TO_PASSWORD: z.string().optional(),
  IMPORT_CREDENTIAL: z.string().optional(),

  DEFAULT_DOMAIN: linkHost.optional(),
  BASE_URL: publicUrl.optional(),
  DOC_BASE: publicUrl.optional(),
  REQUIRE_HTTPS: flag.default(false),
  TRUSTED_PROXIES: addressRanges.prefault('127.0.0.0/8,::1/128'),
  OUTBOUND_ALLOWED_RANGES: addressRangesOrNone.prefault(''),

  GEO_DATABASE: readableFile.optional(),
  GEO_EDGE: z
    .enum(['vercel', 'cloudflare', 'cloudfront'], { error: 'must be vercel, cloudflare or cloudfront' })
    .optional(),
  GEO_COUNTRY_HEADER: headerName.optional(),
  GEO_CITY_HEADER: headerName.optional(),
  GEO_REGION_HEADER: headerName.optional(),
  GEO_CONTINENT_HEADER: headerName.optional(),

  ANONYMISE_ADDRESSES: z.enum(['eu', 'all'], { error: 'must be eu or all' }).default('eu'),
  ADDRESS_RETENTION_DAYS: wholeNumber(1, 36_500).optional(),
  EVENT_RETENTION_DAYS: wholeNumber(31, 36_500).optional(),

  INSTANCE_KEY: hexKey.optional(),
  INSTANCE_KEY_NEXT: hexKey.optional(),
  INSTANCE_KEY_PREVIOUS: hexKey.optional(),
  ADMIN_KEY: adminKey.optional(),
  ADMIN_KEY_PREVIOUS: adminKey.optional(),
  CURRENCY_RATES_FILE: readableFile.optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url('http', 'https').optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headerList.optional(),
  OTEL_TRACES_SAMPLER_ARG: share.prefault('1'),
  SHUTDOWN_DEADLINE_MS: wholeNumber(1000, 600_000).default(25_000),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
});
type Environment = z.infer<typeof environmentSchema>;

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(environmentSchema.shape);

/** Variables that hold a secret, or a URL that contains one. */
const SECRET_NAMES = [
  ...['REDIS_URL', 'QUEUE_SHARDS', 'CLICKHOUSE_URL', 'CLICKHOUSE_PASSWORD', 'MOVE_TO_PASSWORD', 'IMPORT_CREDENTIAL'],
  ...['INSTANCE_KEY', 'INSTANCE_KEY_NEXT', 'INSTANCE_KEY_PREVIOUS', 'ADMIN_KEY', 'ADMIN_KEY_PREVIOUS'],
] as const;
/** Placeholders in the public templates of this repository: `change-me`, or one character repeated. */
const PLACEHOLDER = /change-?me|^(.)\1{31,}$/i;

/** Whether a secret, or the password inside a URL, is a placeholder. Either may be percent-encoded. */
function hasPlaceholder(value: string): boolean {
  // Not `URL`: a Redis URL may list several servers.
  const password = /^[a-z+]+:\/\/[^:@/]*:([^@/]*)@/.exec(value)?.[1] ?? '';
  const decode = (text: string) =>
    text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return [value, password].some((text) => PLACEHOLDER.test(decode(text)));
}

const QUEUE_SHARDS_MAX = 64;

/** The queue shards from 1 on. REDIS_URL is shard 0, whether or not the list begins with it. */
function otherQueueShards({ REDIS_URL, QUEUE_SHARDS = [] }: Environment): readonly string[] {
  return QUEUE_SHARDS[0] === REDIS_URL ? QUEUE_SHARDS.slice(1) : QUEUE_SHARDS;
}

/** The parts of a ClickHouse URL; none of an invalid one, which is a problem of its own. */
function addressOf(clickhouseUrl: string): Partial<ClickHouseAddress> {
  try {
    return parseClickHouseAddress(clickhouseUrl);
  } catch {
    return {};
  }
}

/** Rules across several variables: rejects settings that would be ignored or could not work together. */
const settingsSchema = environmentSchema.superRefine((environment, ctx) => {
  const addProblem = (name: keyof Environment, message: string) =>
    ctx.addIssue({ code: 'custom', path: [name], message, input: undefined });

  for (const name of SECRET_NAMES) {
    const value = environment[name];
    if (value === undefined || ![value].flat().some(hasPlaceholder)) continue;
    addProblem(name, 'still has the placeholder of a template, which is public: put a secret of your own there');
  }

  const ports = [environment.API_PORT, environment.LINK_PORT, environment.WRITER_PORT].filter((number) => number !== 0);
  if (environment.LINK_PORT !== 0 && environment.LINK_PORT === environment.API_PORT)
    addProblem('LINK_PORT', 'must differ from API_PORT');
  else if (new Set(ports).size < ports.length) addProblem('WRITER_PORT', 'must differ from API_PORT and LINK_PORT');

  if (environment.REDIS_URL === undefined && environment.REDIS_WAIT_REPLICAS > 0) {
    addProblem('REDIS_WAIT_REPLICAS', 'needs REDIS_URL: its own Redis has no replicas');
  }

  const shards = otherQueueShards(environment);
  if (shards.length > 0 && environment.REDIS_URL === undefined) {
    addProblem('QUEUE_SHARDS', 'needs REDIS_URL, whose Redis is shard 0');
  }
  if (new Set([environment.REDIS_URL, ...shards]).size <= shards.length) {
    addProblem('QUEUE_SHARDS', 'names a Redis twice');
  }
  if (shards.length > QUEUE_SHARDS_MAX) addProblem('QUEUE_SHARDS', `must have at most ${QUEUE_SHARDS_MAX} entries`);
  if (environment.CLICKHOUSE_EVENTS_QUORUM && environment.CLICKHOUSE_CLUSTER === undefined) {
    addProblem('CLICKHOUSE_EVENTS_QUORUM', 'needs CLICKHOUSE_CLUSTER: one server has no replicas');
  }

  if (environment.CLICKHOUSE_URL === undefined) {
    for (const name of ['CLICKHOUSE_USER', 'CLICKHOUSE_PASSWORD', 'CLICKHOUSE_CLUSTER'] as const) {
      if (environment[name] !== undefined) addProblem(name, 'needs CLICKHOUSE_URL: the embedded store has none');
    }
  } else {
    const { socketPath, user, password } = addressOf(environment.CLICKHOUSE_URL);
    if (user !== undefined && environment.CLICKHOUSE_USER !== undefined) {
      addProblem('CLICKHOUSE_USER', 'is given twice: CLICKHOUSE_URL has a user');
    }
    if (password !== undefined && environment.CLICKHOUSE_PASSWORD !== undefined) {
      addProblem('CLICKHOUSE_PASSWORD', 'is given twice: CLICKHOUSE_URL has a password');
    }
    // Some tasks connect to each server of the cluster, with the scheme, port and user of the URL and another host.
    if (socketPath !== undefined && environment.CLICKHOUSE_CLUSTER !== undefined) {
      addProblem('CLICKHOUSE_CLUSTER', 'needs a host in CLICKHOUSE_URL: a unix socket leads to one server only');
    }
  }

  if (environment.GEO_EDGE === undefined && environment.GEO_COUNTRY_HEADER === undefined) {
    for (const name of ['GEO_CITY_HEADER', 'GEO_REGION_HEADER', 'GEO_CONTINENT_HEADER'] as const) {
      if (environment[name] !== undefined) addProblem(name, 'needs GEO_EDGE or GEO_COUNTRY_HEADER');
    }
  }

  if (environment.REQUIRE_HTTPS && environment.BASE_URL?.startsWith('http://')) {
    addProblem('BASE_URL', 'must start https:// when REQUIRE_HTTPS is true');
  }
});

/** The default base URL, reachable from this machine. An IPv6 address needs brackets in a URL. */
function localUrl(host: string, portNumber: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${portNumber}`;
}

function toSettings(env: Environment) {
  const baseUrl = env.BASE_URL ?? localUrl(env.HOST, env.API_PORT);
  return {
    host: env.HOST,
    apiPort: env.API_PORT,
    linkPort: env.LINK_PORT,
    /** Port of the writer's health endpoints. */
    writerPort: env.WRITER_PORT,
    /** Absolute. */
    dataDir: env.DATA_DIR,
    /** Limit on the bytes of all files of export jobs. */
    exportBytesMax: env.EXPORTS_MAX_MB * 1024 ** 2,
    /** Limit on the bytes of all files of imports. */
    importBytesMax: env.IMPORTS_MAX_MB * 1024 ** 2,
    /** How long erasures are gathered into a batch, in milliseconds. */
    erasureGatherMs: env.ERASURE_GATHER_MINUTES * 60_000,
    /** Undefined = `standalone` starts its own Redis. */
    redisUrl: env.REDIS_URL,
    /** URLs of the queue shards from 1 on; `redisUrl` is shard 0. */
    otherQueueShards: otherQueueShards(env),
    /** Memory limit of the Redis that `standalone` starts. */
    redisMaxmemoryMb: env.REDIS_MAXMEMORY_MB,
    /** How many replicas of Redis must confirm a write; 0 = none. */
    redisWaitReplicas: env.REDIS_WAIT_REPLICAS,
    /** Limit on the bytes of a process's spool. */
    spoolBytesMax: env.SPOOL_MAX_MB * 1024 ** 2,
    /** Undefined = the embedded ClickHouse. */
    clickhouseUrl: env.CLICKHOUSE_URL,
    clickhouseUser: env.CLICKHOUSE_USER,
    clickhousePassword: env.CLICKHOUSE_PASSWORD,
    clickhouseDatabase: env.CLICKHOUSE_DATABASE,
    clickhouseCluster: env.CLICKHOUSE_CLUSTER,
    /** Whether inserts of events into a cluster wait for a majority of the replicas. */
    clickhouseEventsQuorum: env.CLICKHOUSE_EVENTS_QUORUM,
    /** Connections of the embedded store; each runs one query at a time. */
    clickhouseSessions: env.CLICKHOUSE_SESSIONS,
    /** Password of the user of the server that `waymark move` copies to. */
    moveToPassword: env.MOVE_TO_PASSWORD,
    /** Key for the API of the system that `waymark import` reads. */
    importCredential: env.IMPORT_CREDENTIAL,
    defaultDomain: env.DEFAULT_DOMAIN,
    /** Public address of the API, without a trailing slash. */
    baseUrl,
    /** Base URL of the documentation links (`doc_url`) in errors, without a trailing slash. */
    docBase: env.DOC_BASE ?? `${baseUrl}/docs`,
    requireHttps: env.REQUIRE_HTTPS,
    /** CIDR ranges whose forwarded headers are accepted. */
    trustedProxies: env.TRUSTED_PROXIES,
    /** CIDR ranges that outbound requests (webhooks, scheduled exports, imports, logos, previews) may reach although they are private; `none`: they reach nothing. */
    outboundAllowedRanges: env.OUTBOUND_ALLOWED_RANGES,
    geoDatabase: env.GEO_DATABASE,
    /** The CDN edge whose headers hold the visitor's location; undefined = only the headers in `geoHeaders` are read. */
    geoEdge: env.GEO_EDGE,
    /** Header names that override those of the edge, or describe an edge that is not built in; lower case. */
    geoHeaders: {
      country: env.GEO_COUNTRY_HEADER,
      city: env.GEO_CITY_HEADER,
      region: env.GEO_REGION_HEADER,
      continent: env.GEO_CONTINENT_HEADER,
    },
    /** Visitors whose IP addresses are not stored: those from the EU and GB, or all. */
    anonymisedAddresses: env.ANONYMISE_ADDRESSES,
    /** After how many days stored IP addresses are removed; undefined = never. */
    addressRetentionDays: env.ADDRESS_RETENTION_DAYS,
    /** After how many days events are removed; undefined = never. */
    eventRetentionDays: env.EVENT_RETENTION_DAYS,
    /** 64 hexadecimal digits; undefined = the file in `dataDir`. Read it and the next two with `readInstanceKeys`. */
    instanceKey: env.INSTANCE_KEY,
    instanceKeyNext: env.INSTANCE_KEY_NEXT,
    instanceKeyPrevious: env.INSTANCE_KEY_PREVIOUS,
    /** Undefined = the file in `dataDir`, if there is one. Read it and the next one with `readAdminKeys`. */
    adminKey: env.ADMIN_KEY,
    adminKeyPrevious: env.ADMIN_KEY_PREVIOUS,
    currencyRatesFile: env.CURRENCY_RATES_FILE,
    /** Base URL of the OTLP collector, without `/v1/traces`; undefined = tracing is off. */
    otlpEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
    /** Headers sent to the collector, such as its API key. */
    otlpHeaders: env.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    /** Share of requests that are traced, from 0 to 1. */
    tracedShare: env.OTEL_TRACES_SAMPLER_ARG,
    shutdownDeadlineMs: env.SHUTDOWN_DEADLINE_MS,
    logLevel: env.LOG_LEVEL,
  } as const;
}

/** The settings of a process, parsed once in its entry file and passed on as arguments. */
export type Settings = Readonly<ReturnType<typeof toSettings>>;

/**
 * Reads the settings from environment variables. An empty variable counts as absent, because compose files pass unset ones as `''`.
 *
 * @throws SettingsError naming every invalid variable
 */
export function loadSettings(env: Readonly<Record<string, string | undefined>> = process.env): Settings {
  const variables = Object.fromEntries(
    Object.keys(environmentSchema.shape)
      .map((name) => [name, env[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = settingsSchema.safeParse(variables);
  if (!parsed.success) throw SettingsError.fromIssues(parsed.error.issues);
  return Object.freeze(toSettings(parsed.data));
}
