import { DURATION_BOUNDS_MS } from '@waymark/clickhouse';
import type { Metric, Registry } from 'prom-client';
import type { DurationCounts } from './duration-counts.js';

type Labels = Readonly<Record<string, string | number>>;

/** A value with its labels. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface NamedSample extends Sample {
  readonly metricName?: string;
}

/** Adds a metric whose values are collected at scrape time, so that counting costs nothing in between. */
function add(registry: Registry, name: string, help: string, type: string, values: () => NamedSample[]): void {
  const metric = { name, help, type, aggregator: 'sum', get: async () => ({ name, help, type, values: values() }) };
  registry.registerMetric(metric as unknown as Metric);
}

/** Adds a gauge: a current value. Without samples it is absent from the scrape. */
export function addGauge(registry: Registry, name: string, help: string, samples: () => readonly Sample[]): void {
  add(registry, name, help, 'gauge', () => [...samples()]);
}

/** Adds a counter: a value that only grows. */
export function addCounter(registry: Registry, name: string, help: string, samples: () => readonly Sample[]): void {
  add(registry, name, help, 'counter', () => [...samples()]);
}

/** A histogram with its labels. */
export interface HistogramSample {
  readonly labels: Labels;
  readonly count: number;
  readonly sum: number;
  /** Counts per bucket, not cumulative; one more than there are bounds, for values above the last one. */
  readonly buckets: readonly number[];
}

/** Adds a histogram. @param bounds upper bounds of its buckets, ascending */
export function addHistogram(
  registry: Registry,
  name: string,
  help: string,
  bounds: readonly number[],
  samples: () => readonly HistogramSample[],
): void {
  const linesOf = ({ labels, count, sum, buckets }: HistogramSample): NamedSample[] => {
    let below = 0;
    const bucketLines = bounds.map((bound, index) => {
      below += buckets[index] ?? 0;
      return { labels: { ...labels, le: bound }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...bucketLines,
      { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  };
  add(registry, name, help, 'histogram', () => samples().flatMap(linesOf));
}

/** Bounds of durations in seconds, the unit of Prometheus. */
export const DURATION_BOUNDS_SECONDS = DURATION_BOUNDS_MS.map((bound) => bound / 1000);

/** The sum of several counts of durations as one histogram, in seconds. */
export function durationSample(labels: Labels, counts: readonly DurationCounts[]): HistogramSample {
  const buckets = DURATION_BOUNDS_SECONDS.concat(Number.POSITIVE_INFINITY).map((_bound, index) =>
    counts.reduce((sum, one) => sum + (one.buckets[index] ?? 0), 0),
  );
  return {
    labels,
    count: counts.reduce((sum, { count }) => sum + count, 0),
    sum: counts.reduce((sum, { sumMs }) => sum + sumMs, 0) / 1000,
    buckets,
  };
}
