import { ClickHouseLogLevel, type ClickHouseClient as Client, createClient } from '@clickhouse/client';
import { createRowReader, type ReadSettings, type RowReader } from './rows/row-reader.js';

/** The official client, for everything that does not answer with rows to be read at once. */
export type ClickHouseClient = Client & Pick<RowReader, 'rows'>;

export interface ClickHouseOptions {
  /** Without path and parameters. */
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database: string;
  readonly requestTimeoutMs?: number | undefined;
  readonly maxOpenConnections?: number | undefined;
  /** Of every request, besides those that all have. */
  readonly settings?: ReadSettings | undefined;
}

const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 32;

/**
 * Settings of every request: inserts are durable when they return and are never merged behind our back; 64-bit integers
 * arrive as text; times arrive as `2026-11-21T08:00:00.000Z` and are accepted as such. Answers are too small for several
 * threads to print them: a page takes 14.3 ms with, 13.2 without. The last three say something on a cluster only: inserts
 * return once the shards hold their rows, and as every table is sharded by workspace, a query of one workspace runs on one
 * shard and its subqueries there, too.
 */
const SETTINGS = {
  async_insert: 0,
  output_format_json_quote_64bit_integers: 1,
  date_time_output_format: 'iso',
  date_time_input_format: 'best_effort',
  output_format_parallel_formatting: 0,
  distributed_foreground_insert: 1,
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
} as const;

const optionsOfClients = new WeakMap<ClickHouseClient, ClickHouseOptions>();

/** What both halves of a client log in with; what the address says goes before what is said beside it. */
function credentialsOf({ url, user, password }: ClickHouseOptions): { user: string; password: string } {
  const inUrl = new URL(url);
  return {
    user: decodeURIComponent(inUrl.username) || user || 'default',
    password: decodeURIComponent(inUrl.password) || password || '',
  };
}

/** Bodies are compressed unless the server is on this machine, where it only costs time. */
export function createClickHouseClient(options: ClickHouseOptions): ClickHouseClient {
  const { origin: url, host } = new URL(options.url);
  const { user, password } = credentialsOf(options);
  const { database } = options;
  const isRemote = !/^(?:localhost|127\.|\[::1\])/.test(host);
  const timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const connectionsMax = options.maxOpenConnections ?? CONNECTIONS_MAX;
  const settings = { ...SETTINGS, ...options.settings };
  const official = createClient({
    url,
    username: user,
    password,
    database,
    application: 'waymark',
    request_timeout: timeoutMs,
    max_open_connections: connectionsMax,
    compression: { request: isRemote, response: isRemote },
    // Errors are thrown to the caller, who logs them with what it was doing.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: settings,
  });
  const reader = createRowReader({
    url,
    user,
    password,
    database,
    timeoutMs,
    connectionsMax,
    isCompressed: isRemote,
    settings,
  });
  const closeOfficial = official.close.bind(official);
  const client = Object.assign(official, {
    rows: reader.rows,
    close: async () => void (await Promise.all([closeOfficial(), reader.close()])),
  });
  optionsOfClients.set(client, options);
  return client;
}

/** What `client` was made from. Throws for a client that was not made by `createClickHouseClient`. */
export function optionsOf(client: ClickHouseClient): ClickHouseOptions {
  const options = optionsOfClients.get(client);
  if (options === undefined) throw new TypeError('this ClickHouse client was not made by createClickHouseClient');
  return options;
}
