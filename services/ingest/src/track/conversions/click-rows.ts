import { clickRowOf, clickSelection } from '@waymark/clickhouse';
import { CLICK_COLUMNS, type EventRow, PAYLOAD_HEAD } from '@waymark/event-format';

/** SQL of the columns of a click row, from `lead_events` or `sale_events`, whose rows contain the columns of their click. */
export const CONVERSION_CLICK_SELECTION = clickSelection('click_timestamp').join(', ');

const TIMESTAMP = CLICK_COLUMNS.indexOf('timestamp');
const PAYLOAD = CLICK_COLUMNS.indexOf('payload');
const CLICK_ID = CLICK_COLUMNS.indexOf('click_id');
const LINK_ID = CLICK_COLUMNS.indexOf('link_id');
const COUNTRY = CLICK_COLUMNS.indexOf('country');

/** A click row from the row of a lead or a sale, whose payload contains its click. */
export function conversionClickRowOf(columns: readonly string[]): EventRow {
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
