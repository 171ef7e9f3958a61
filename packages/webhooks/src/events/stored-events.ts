import { type ClickHouseClient, dateTimeText } from '@waymark/clickhouse';
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

const READ_SECONDS_MAX = 10;
const CONVERSION_COLUMNS = ', event_name, toString(customer_id)';

type Row = readonly [id: string, link: string, payload: string, ip: string, eventName?: string, customer?: string];

function storedEvent([id, link, payload, ip, eventName = '', customer]: Row): StoredEvent {
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

/** Reads events, in the order of `ids`; those that do not exist are left out. */
export async function readStoredEvents(
  clickhouse: ClickHouseClient,
  kind: EventTableKind,
  workspaceId: string,
  ids: readonly string[],
): Promise<StoredEvent[]> {
  const times = ids.flatMap((id) => eventIdTime(id) ?? []);
  if (times.length === 0) return [];
  const { table, idColumn } = EVENT_TABLES[kind];
  const rows = await clickhouse.rows<Row>({
    // The primary key is (workspace, time): the range keeps the read to the granules of that moment.
    query: `SELECT toString(${idColumn}), toString(link_id), payload, ip${kind === 'click' ? '' : CONVERSION_COLUMNS}
FROM ${table}
WHERE workspace_id = {workspace:UInt64}
  AND timestamp BETWEEN {from:DateTime64(3, 'UTC')} AND {to:DateTime64(3, 'UTC')}
  AND ${idColumn} IN {ids:Array(String)}`,
    parameters: {
      workspace: parseResourceId('workspace', workspaceId),
      from: dateTimeText(Math.min(...times)),
      to: dateTimeText(Math.max(...times)),
      ids,
    },
    settings: { max_execution_time: READ_SECONDS_MAX, log_comment: 'webhooks' },
  });
  const found = new Map(rows.map((row) => [row[0], row]));
  return ids.flatMap((id) => {
    const row = found.get(id);
    return row === undefined ? [] : [storedEvent(row)];
  });
}
