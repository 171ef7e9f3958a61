/** Colours by what they stand for; `limit` is drawn as a dashed line. */
export type Tone = 'first' | 'second' | 'third' | 'fourth' | 'fifth' | 'bad' | 'limit';

export interface PlotSeries {
  readonly name: string;
  readonly tone: Tone;
  /** One a time; null = nothing is known. */
  readonly values: readonly (number | null)[];
}

export interface PlotAnswer {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly PlotSeries[];
}

/** What `GET /ops/data` answers. Markup in it is escaped. */
export interface OpsAnswer {
  /** Milliseconds since 1970 on the server's clock. */
  readonly nowMs: number;
  /** The strip of components as markup. */
  readonly components: string;
  /** One line for screen readers: what is not as it should be. */
  readonly summary: string;
  /** Plots that could be read, by panel. */
  readonly plots: Readonly<Record<string, PlotAnswer>>;
  /** Tables that could be read, as markup, by panel. */
  readonly tables: Readonly<Record<string, string>>;
  /** Why the others could not be read. */
  readonly failures: Readonly<Record<string, string>>;
}
