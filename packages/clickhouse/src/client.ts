import { Agent } from 'node:http';
import { ClickHouseLogLevel, type ClickHouseClient as Client, createClient } from '@clickhouse/client';
import { parseClickHouseAddress } from './clickhouse-address.js';
import { createRowReader, type ReadSettings, type RowReader } from './rows/row-reader.js';
import { splitParameters } from './rows/split-parameters.js';

/** The official client, extended by `rows` and `lazyRows`, which read all rows of a query faster. */
export type ClickHouseClient = Client & Pick<RowReader, 'rows' | 'lazyRows'>;

/** Options of {@link createClickHouseClient}. */
export interface ClickHouseOptions {
  /** In a form of CLICKHOUSE_URL, see {@link parseClickHouseAddress}. Its user and password take precedence over those below. */
  readonly url: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database: string;
  readonly requestTimeoutMs?: number | undefined;
  readonly maxOpenConnections?: number | undefined;
  /** Whether bodies are compressed. Default: unless the server is on this machine. */
  readonly isCompressed?: boolean | undefined;
  /** Settings of every request, in addition to {@link SETTINGS}, over which they take precedence. */
  readonly settings?: ReadSettings | undefined;
}

const REQUEST_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 32;

/**
 * A profile of the user can shorten results at a limit instead of failing the read, and leave out shards that are away. Such a result would
 * look complete. If the user may not change a setting, ClickHouse accepts the request when the setting has this value already, and refuses it otherwise.
 */
const WHOLE_RESULTS = {
  limit: '0',
  offset: '0',
  skip_unavailable_shards: 0,
  timeout_overflow_mode: 'throw',
  read_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  group_by_overflow_mode: 'throw',
  sort_overflow_mode: 'throw',
  distinct_overflow_mode: 'throw',
  set_overflow_mode: 'throw',
  join_overflow_mode: 'throw',
  transfer_overflow_mode: 'throw',
} as const;

/**
 * Settings of every request. Inserts are durable when they return, and are not batched by the server. 64-bit integers are returned as
 * strings; times are sent and returned in the form `2026-11-21T08:00:00.000Z`. Results are formatted by one thread, because they are
 * small: a page takes 13.2 ms, and 14.3 ms with several threads. The last three settings matter on a cluster only: inserts return when the
 * shards have the rows, and because tables are sharded by workspace, the query of a workspace, with its subqueries, runs on one shard.
 */
const SETTINGS = {
  ...WHOLE_RESULTS,
  async_insert: 0,
  output_format_json_quote_64bit_integers: 1,
  date_time_output_format: 'iso',
  date_time_input_format: 'best_effort',
  output_format_parallel_formatting: 0,
  distributed_foreground_insert: 1,
  distributed_product_mode: 'local',
  optimize_skip_unused_shards: 1,
} as const;

/** The parameters of a request of the official client, with long lists and texts divided. */
function withSplitParameters<Request extends { readonly query: string; query_params?: Record<string, unknown> }>(
  request: Request,
): Request {
  const given = request.query_params ?? {};
  const { query, parameters } = splitParameters({ query: request.query, parameters: given });
  return parameters === given ? request : { ...request, query, query_params: { ...parameters } };
}

const optionsOfClients = new WeakMap<ClickHouseClient, ClickHouseOptions>();

/** Creates a client. It connects with its first request; close it with `close()`. @throws Error when the URL is invalid */
export function createClickHouseClient(options: ClickHouseOptions): ClickHouseClient {
  const { origin: url, socketPath, ...inUrl } = parseClickHouseAddress(options.url);
  const user = inUrl.user || options.user || 'default';
  const password = inUrl.password || options.password || '';
  const { database } = options;
  const isCompressed = options.isCompressed ?? !/^https?:\/\/(?:localhost|127\.|\[::1\])/.test(url);
  const timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const connectionsMax = options.maxOpenConnections ?? CONNECTIONS_MAX;
  const settings = { ...SETTINGS, ...options.settings };
  // The types of Node.js do not have the option of its agent for sockets.
  const toSocket = { keepAlive: true, maxSockets: connectionsMax, socketPath };
  const official = createClient({
    url,
    username: user,
    password,
    database,
    application: 'waymark',
    request_timeout: timeoutMs,
    max_open_connections: connectionsMax,
    compression: { request: isCompressed, response: isCompressed },
    // Errors are thrown to the caller, which logs them with its context.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: settings,
    ...(socketPath !== undefined && { http_agent: new Agent(toSocket) }),
  });
  const reader = createRowReader({
    url,
    socketPath,
    user,
    password,
    database,
    timeoutMs,
    connectionsMax,
    isCompressed,
    settings,
  });
  const closeOfficial = official.close.bind(official);
  const [query, command] = [official.query.bind(official), official.command.bind(official)];
  const client = Object.assign(official, {
    query: ((request) => query(withSplitParameters(request))) as typeof official.query,
    command: ((request) => command(withSplitParameters(request))) as typeof official.command,
    rows: reader.rows,
    lazyRows: reader.lazyRows,
    close: async () => void (await Promise.all([closeOfficial(), reader.close()])),
  });
  optionsOfClients.set(client, options);
  return client;
}

/** The options with which a client was created. @throws TypeError for a client that `createClickHouseClient` has not created */
export function optionsOf(client: ClickHouseClient): ClickHouseOptions {
  const options = optionsOfClients.get(client);
  if (options === undefined) throw new TypeError('this ClickHouse client was not created by createClickHouseClient');
  return options;
}
