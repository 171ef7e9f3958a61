/** Colours of series, by their names in the style sheet. A series with `limit` is drawn as a dashed line. */
export type Tone = 'first' | 'second' | 'third' | 'fourth' | 'fifth' | 'bad' | 'limit';

/** A line of a plot. */
export interface PlotSeries {
  readonly name: string;
  readonly tone: Tone;
  /** One value for each item of `times`; null = no value. */
  readonly values: readonly (number | null)[];
}

/** The data of a plot. */
export interface PlotAnswer {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly PlotSeries[];
}

/** Response of `GET /ops/data`. Texts in its HTML are escaped. */
export interface OpsAnswer {
  /** Milliseconds since 1970 on the server's clock. */
  readonly nowMs: number;
  /** HTML of the strip of components. */
  readonly components: string;
  /** The current problems in one line, for screen readers. */
  readonly summary: string;
  /** Plots by panel id; those that could not be read are absent. */
  readonly plots: Readonly<Record<string, PlotAnswer>>;
  /** HTML of tables by panel id; those that could not be read are absent. */
  readonly tables: Readonly<Record<string, string>>;
  /** Error messages by panel id, for panels that could not be read. */
  readonly failures: Readonly<Record<string, string>>;
}
