import type { Tone, Unit } from '@waymark/ops-page';

interface PanelText {
  /** In addresses, markup and answers. */
  readonly id: string;
  readonly title: string;
  /** One sentence: what is shown. */
  readonly about: string;
  /** Shown instead of nothing. */
  readonly empty: string;
  /**
   * Read with the parameters `from`, `to` and `step`, in seconds since 1970 and seconds. Workspaces are not filtered: these are
   * the operator's numbers, and tables of operators hold nothing of visitors.
   */
  readonly sql: string;
}

export interface PlotPanel extends PanelText {
  readonly kind: 'plot';
  readonly unit: Unit;
  /** What is counted, beside the title, for numbers that do not say it themselves. */
  readonly counted?: string;
  /** Series by the names that rows give, in the order of the legend. */
  readonly series: readonly { readonly name: string; readonly tone: Tone }[];
  /** What a point has for which there is no row: nothing happened then, or nothing is known. */
  readonly missing: 0 | null;
  /** Seconds between two points at least: rows of a table by minute fill no shorter steps. */
  readonly stepMin: number;
}

export type CellKind = 'text' | 'time' | 'bar' | Unit;

export interface TablePanel extends PanelText {
  readonly kind: 'table';
  /** One a value of a row; `bar` takes the same value as the column before and draws it. */
  readonly columns: readonly { readonly title: string; readonly cell: CellKind }[];
}

export type OpsPanel = PlotPanel | TablePanel;

export interface PanelGroup {
  readonly title: string;
  /** How wide its panels have to be. */
  readonly width: 'plots' | 'tables';
  readonly panels: readonly OpsPanel[];
}

/** Beginning of the step that a column of times lies in. */
export const stepOf = (column: string) =>
  `toUInt32(intDiv(toUInt32(toUnixTimestamp(${column})), {step:UInt32}) * {step:UInt32})`;

/** Keeps a column of times within the range, in the type of the column, so that its index serves. */
export const within = (column: string) =>
  `${column} >= toDateTime({from:UInt32}, 'UTC') AND ${column} < toDateTime({to:UInt32}, 'UTC')`;
