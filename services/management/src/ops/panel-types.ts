import type { Tone, Unit } from '@waymark/ops-page';

interface PanelText {
  /** Used in URLs, markup and responses. */
  readonly id: string;
  readonly title: string;
  /** A one-sentence description. */
  readonly about: string;
  /** Shown when there is no data. */
  readonly empty: string;
  /**
   * The query, with the parameters `from` and `to` (Unix seconds) and `step` (seconds). It is not filtered by workspace: these numbers are
   * for operators, and the `ops_` tables contain no data about visitors.
   */
  readonly sql: string;
}

/** A panel with a plot of series over time. */
export interface PlotPanel extends PanelText {
  readonly kind: 'plot';
  readonly unit: Unit;
  /** What is counted, shown beside the title when the unit does not make it clear. */
  readonly counted?: string;
  /** Series by their names in the rows, in the order of the legend. */
  readonly series: readonly { readonly name: string; readonly tone: Tone }[];
  /** Value of a point without a row: 0 when nothing happened, null when the value is unknown. */
  readonly missing: 0 | null;
  /** Shortest step in seconds: tables with one row per minute cannot fill shorter ones. */
  readonly stepMin: number;
}

/** How the values of a column are formatted. */
export type CellKind = 'text' | 'time' | 'bar' | Unit;

/** A panel with a table. */
export interface TablePanel extends PanelText {
  readonly kind: 'table';
  /** One column per value of a row; `bar` draws a share from 0 to 1 with its percentage. */
  readonly columns: readonly { readonly title: string; readonly cell: CellKind }[];
}

export type OpsPanel = PlotPanel | TablePanel;

/** A section of the page. */
export interface PanelGroup {
  readonly title: string;
  /** Layout of its panels. */
  readonly width: 'plots' | 'tables';
  readonly panels: readonly OpsPanel[];
}

/** SQL for the start of the step that contains a time column. */
export const stepOf = (column: string) =>
  `toUInt32(intDiv(toUInt32(toUnixTimestamp(${column})), {step:UInt32}) * {step:UInt32})`;

/** SQL condition for a time column within the range, in the type of the column, so that its index is used. */
export const inRange = (column: string) =>
  `${column} >= toDateTime({from:UInt32}, 'UTC') AND ${column} < toDateTime({to:UInt32}, 'UTC')`;
