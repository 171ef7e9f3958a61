import { type ClickHouseClient, type ClickHouseOptions, createClickHouseClient } from '../client.js';
import { SEQUENTIAL_READ } from '../rows/replicated.js';
import type { ReadSettings } from '../rows/row-reader.js';

/** A database of a move. */
export interface MoveEnd {
  readonly connection: Pick<ClickHouseOptions, 'url' | 'user' | 'password' | 'database'>;
  /** Name of the cluster in `system.clusters`; undefined: a single node. */
  readonly cluster?: string | undefined;
}

/** A connected database of a move. */
export interface OpenEnd {
  readonly client: ClickHouseClient;
  readonly cluster: string | undefined;
}

/** Longer than planning the largest partition takes. */
const REQUEST_TIMEOUT_MS = 3_600_000;
const COPY_SETTINGS: ReadSettings = { date_time_output_format: 'simple' };

/** An error of one of the two servers, which it names. */
export class MoveEndError extends Error {
  constructor(end: string, cause: unknown) {
    super(`${end}: ${cause instanceof Error ? cause.message || cause.name : String(cause)}`, { cause });
    this.name = 'MoveEndError';
  }
}

/** Names the server in the errors of a client. */
function withNamedErrors(client: ClickHouseClient, end: string): ClickHouseClient {
  const named =
    <Args extends unknown[], Result>(method: (...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      method(...args).catch((err: unknown): never => {
        throw new MoveEndError(end, err);
      });
  return Object.assign(client, {
    rows: named(client.rows) as ClickHouseClient['rows'],
    command: named(client.command.bind(client)),
    insert: named(client.insert.bind(client)) as ClickHouseClient['insert'],
    exec: named(client.exec.bind(client)) as ClickHouseClient['exec'],
  });
}

function open(name: string, { connection, cluster }: MoveEnd, settings: ReadSettings): OpenEnd {
  // Between machines of one network a move is bound by their processors, and compression would take most of one.
  const client = createClickHouseClient({
    ...connection,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    isCompressed: false,
    settings: { ...COPY_SETTINGS, ...settings },
  });
  const end = `the ${name} (${new URL(connection.url).host}, database ${connection.database})`;
  return { client: withNamedErrors(client, end), cluster };
}

/**
 * Opens the database to copy from, whose server then refuses every statement that changes anything. A slice may be larger than the
 * results that services read, and is sent when all of it has been read, so that an error cannot cut it off.
 */
export function openSource(end: MoveEnd): OpenEnd {
  return open('source', end, { readonly: 2, max_result_bytes: 0, wait_end_of_query: 1 });
}

/** Opens the database to copy into. On a cluster its reads see all that has been copied, because all of it waits for a quorum. */
export function openTarget(end: MoveEnd): OpenEnd {
  return open('target', end, end.cluster === undefined ? {} : SEQUENTIAL_READ);
}
