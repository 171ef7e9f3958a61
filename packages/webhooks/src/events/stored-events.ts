import { type ClickHouseClient, dateTimeText, findOnReplicas, MissingRowsError } from '@waymark/clickhouse';
import { eventIdTime, formatResourceId, parseResourceId } from '@waymark/contract';
import { EVENT_TABLES, type EventPayload, type EventTableKind, parsePayload } from '@waymark/event-format';

/** An event read from ClickHouse. */
export interface StoredEvent {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly timestampMs: number;
  /** `link_…` */
  readonly linkId: string;
  /** Empty for clicks. */
  readonly eventName: string;
  /** `cus_…`; undefined for clicks. */
  readonly customerId: string | undefined;
  readonly payload: EventPayload;
  readonly ip: string;
}

/** Events that were looked up by their ids. */
export interface FoundEvents {
  /** In the order of the ids. */
  readonly events: readonly StoredEvent[];
  /** Ids of events that do not exist. */
  readonly absent: readonly string[];
  /** Ids of events that may exist: the replicas that may have them are behind or away. Empty without a cluster. */
  readonly unknown: readonly string[];
  /** Why it is not known whether they exist. */
  readonly cause?: unknown;
  /** For the next look-up of these: see `readStoredEvents`. */
  readonly since?: number | undefined;
}

/** Where events are read. */
export interface EventStore {
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster; undefined for a single node. */
  readonly cluster?: string | undefined;
}

const SETTINGS = { max_execution_time: 10, log_comment: 'webhooks' } as const;
const CONVERSION_COLUMNS = ['event_name', 'customer_id'];
/** Wait for a replica that is behind. A replica whose log is empty counts as complete after a second. */
const WAIT_MS = 1000;
const RETRY_MS = 500;

function storedEvent([
  id = '',
  link = '',
  payload = '',
  ip = '',
  eventName = '',
  customer,
]: readonly string[]): StoredEvent {
  return {
    id,
    timestampMs: eventIdTime(id) ?? 0,
    linkId: formatResourceId('link', link),
    eventName,
    customerId: customer === undefined ? undefined : formatResourceId('customer', customer),
    payload: parsePayload(payload),
    ip,
  };
}

/**
 * Reads events. On a cluster, ids that one replica lacks are looked up on all of them, because it may not have fetched new events yet.
 *
 * @param since what an earlier look-up has returned; with it, later inserts do not keep a busy replica from counting as complete
 */
export async function readStoredEvents(
  { clickhouse, cluster }: EventStore,
  kind: EventTableKind,
  workspaceId: string,
  ids: readonly string[],
  since?: number,
): Promise<FoundEvents> {
  const { table, idColumn } = EVENT_TABLES[kind];
  const columns = [idColumn, 'link_id', 'payload', 'ip', ...(kind === 'click' ? [] : CONVERSION_COLUMNS)];
  // The primary key is (workspace, time): the range keeps the read to the granules of that moment.
  const where = `workspace_id = {workspace:UInt64}
  AND timestamp BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}
  AND ${idColumn} IN {ids:Array(String)}`;
  const parametersOf = (some: readonly string[]) => {
    const times = some.map((id) => eventIdTime(id) ?? 0);
    return {
      workspace: parseResourceId('workspace', workspaceId),
      from: dateTimeText(Math.min(...times)),
      to: dateTimeText(Math.max(...times)),
      ids: some,
    };
  };
  const found = new Map<string, readonly string[]>();
  const missing = () => ids.filter((id) => !found.has(id));
  const isEventId = (id: string) => eventIdTime(id) !== undefined;

  /** @returns the error if the events that are still missing may exist */
  async function readFromReplicas(some: readonly string[]): Promise<MissingRowsError | undefined> {
    if (cluster === undefined || some.length === 0) return undefined;
    const read = {
      cluster,
      table,
      columns,
      key: idColumn,
      where,
      parameters: parametersOf(some),
      since,
      waitMs: WAIT_MS,
      retryMs: RETRY_MS,
      settings: SETTINGS,
    };
    const add = (rows: ReadonlyMap<string, readonly string[]>) => {
      for (const [id, row] of rows) found.set(id, row);
    };
    try {
      add(await findOnReplicas(clickhouse, read, some.length));
      return undefined;
    } catch (err) {
      if (!(err instanceof MissingRowsError)) throw err;
      add(err.found);
      return err;
    }
  }

  const readable = ids.filter(isEventId);
  if (readable.length === 0) return { events: [], absent: ids, unknown: [] };
  const rows = await clickhouse.rows<string[]>({
    query: `SELECT ${columns.map((column) => `toString(${column})`).join(', ')} FROM ${table} WHERE ${where}`,
    parameters: parametersOf(readable),
    settings: SETTINGS,
    owner: workspaceId,
  });
  for (const row of rows) found.set(row[0] ?? '', row);
  const failure = await readFromReplicas(missing().filter(isEventId));
  const isUnknown = (id: string) => failure !== undefined && isEventId(id);
  return {
    events: ids.flatMap((id) => {
      const row = found.get(id);
      return row === undefined ? [] : [storedEvent(row)];
    }),
    absent: missing().filter((id) => !isUnknown(id)),
    unknown: missing().filter(isUnknown),
    ...(failure === undefined ? {} : { cause: failure.cause, since: failure.since }),
  };
}
