import { CLICK_COLUMNS, type EventRow } from '@waymark/event-format';
import { dateTimeText } from '@waymark/event-query';

const TIMESTAMP = CLICK_COLUMNS.indexOf('timestamp');

/** SQL of the columns of a click row, in their order. @param timestamp the column with the time of the click */
export function clickSelection(timestamp: string): readonly string[] {
  return CLICK_COLUMNS.map((column) => (column === 'timestamp' ? `toUnixTimestamp64Milli(${timestamp})` : column));
}

/** How stored clicks are looked up by their ids. The condition fits the primary key; its parameters are {@link clickParameters}. */
export const STORED_CLICKS = {
  table: 'click_events',
  columns: clickSelection('timestamp'),
  key: 'click_id',
  where: `workspace_id = {workspace:UInt64} AND timestamp IN {times:Array(DateTime64(3, 'UTC'))} AND click_id IN {ids:Array(String)}`,
} as const;

/** A click, with the time that its id contains. */
export interface ClickTime {
  readonly clickId: string;
  /** Epoch milliseconds. */
  readonly timeMs: number;
}

/** @param workspace `UInt64` as text */
export function clickParameters(workspace: string | undefined, clicks: readonly ClickTime[]) {
  return {
    workspace,
    times: clicks.map(({ timeMs }) => dateTimeText(timeMs)),
    ids: clicks.map(({ clickId }) => clickId),
  };
}

/** A click row from a ClickHouse result, in which 64-bit numbers are text. */
export function clickRowOf(columns: readonly string[]): EventRow {
  return columns.map((value, position) => (position === TIMESTAMP ? Number(value) : value));
}
