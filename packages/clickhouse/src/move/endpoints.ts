import { type ClickHouseClient, type ClickHouseOptions, createClickHouseClient } from '../client.js';
import { SEQUENTIAL_READ } from '../rows/replicated.js';
import type { ReadSettings } from '../rows/row-reader.js';

/** The source or the target of a move: one database. */
export interface MoveEndpoint {
  readonly connection: Pick<ClickHouseOptions, 'url' | 'user' | 'password' | 'database'>;
  /** Name of the cluster in `system.clusters`; undefined: a single node. */
  readonly cluster?: string | undefined;
}

/** A {@link MoveEndpoint} with a client. */
export interface ConnectedEndpoint {
  readonly client: ClickHouseClient;
  readonly cluster: string | undefined;
}

/** An hour: longer than it takes to plan the slices of the largest partition. */
const REQUEST_TIMEOUT_MS = 3_600_000;
/** A `Date` expires at midnight in the time zone of the server, and the two servers may have different ones. */
const COPY_SETTINGS: ReadSettings = { date_time_output_format: 'simple', session_timezone: 'UTC' };

/** An error of one of the two servers. The message names the server. */
export class MoveEndpointError extends Error {
  constructor(endpoint: string, cause: unknown) {
    super(`${endpoint}: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, { cause });
    this.name = 'MoveEndpointError';
  }
}

/** Changes a client so that its errors are {@link MoveEndpointError}s. */
function withNamedErrors(client: ClickHouseClient, endpoint: string): ClickHouseClient {
  const named =
    <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      method(...args).catch((err: unknown): never => {
        throw new MoveEndpointError(endpoint, err);
      });
  return Object.assign(client, {
    rows: named(client.rows.bind(client)) as ClickHouseClient['rows'],
    command: named(client.command.bind(client)),
    insert: named(client.insert.bind(client)) as ClickHouseClient['insert'],
    exec: named(client.exec.bind(client)) as ClickHouseClient['exec'],
  });
}

function open(name: string, { connection, cluster }: MoveEndpoint, settings: ReadSettings): ConnectedEndpoint {
  // Not compressed: the speed of a move within one network is limited by the processors, and compression would use most of one.
  const client = createClickHouseClient({
    ...connection,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    isCompressed: false,
    settings: { ...COPY_SETTINGS, ...settings },
  });
  const endpoint = `the ${name} (${new URL(connection.url).host}, database ${connection.database})`;
  return { client: withNamedErrors(client, endpoint), cluster };
}

/**
 * Opens the database to copy from. Its server refuses statements of this client that change anything. Results have no size limit, because a
 * slice may be larger than any result that services read. A result is sent only when it is complete, so that an error cannot truncate it.
 */
export function openSource(endpoint: MoveEndpoint): ConnectedEndpoint {
  return open('source', endpoint, { readonly: 2, max_result_bytes: 0, wait_end_of_query: 1 });
}

/** Opens the database to copy into. On a cluster its reads see all copied rows, because each insert waits for a quorum. */
export function openTarget(endpoint: MoveEndpoint): ConnectedEndpoint {
  return open('target', endpoint, endpoint.cluster === undefined ? {} : SEQUENTIAL_READ);
}
