import { EVENT_TABLES, type EventRow, PAYLOAD_HEAD } from '@waymark/event-format';

const COLUMNS = EVENT_TABLES.click.columns[1];

const selection = (timestamp: string): readonly string[] =>
  COLUMNS.map((column) => (column === 'timestamp' ? `toUnixTimestamp64Milli(${timestamp})` : column));

/** SQL of the columns of `click_events` in the order of a click row. */
export const CLICK_SQL = selection('timestamp');

/** The same for `lead_events`, whose rows contain the columns of their click. */
export const LEAD_CLICK_SELECTION = selection('click_timestamp').join(', ');

const TIMESTAMP = COLUMNS.indexOf('timestamp');
const PAYLOAD = COLUMNS.indexOf('payload');
const CLICK_ID = COLUMNS.indexOf('click_id');
const LINK_ID = COLUMNS.indexOf('link_id');
const COUNTRY = COLUMNS.indexOf('country');

/** A click row from a ClickHouse result, in which 64-bit numbers are text. */
export function clickRowOf(columns: readonly string[]): EventRow {
  return columns.map((value, position) => (position === TIMESTAMP ? Number(value) : value));
}

/** A click row from the row of a lead, whose payload contains its click. */
export function leadClickRowOf(columns: readonly string[]): EventRow {
  const { click } = JSON.parse(columns[PAYLOAD] ?? '{}') as { readonly click: unknown };
  return clickRowOf(
    columns.map((value, position) =>
      position === PAYLOAD ? `${PAYLOAD_HEAD}"click":${JSON.stringify(click)}}` : value,
    ),
  );
}

/** The fields of a click row that track calls use. */
export interface ClickReference {
  readonly clickId: string;
  readonly timestampMs: number;
  /** `UInt64` as text. */
  readonly linkNumber: string;
  readonly country: string;
}

/** The fields of a click row that track calls use. */
export function readClick(row: EventRow): ClickReference {
  return {
    clickId: String(row[CLICK_ID]),
    timestampMs: Number(row[TIMESTAMP]),
    linkNumber: String(row[LINK_ID]),
    country: String(row[COUNTRY]),
  };
}
