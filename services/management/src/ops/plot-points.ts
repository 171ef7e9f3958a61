import type { PlotAnswer } from '@waymark/ops-page';
import type { PlotPanel } from './panel-types.js';

/** Start of a step in Unix seconds, name of a series, value. */
export type PlotRow = readonly [at: number, name: string, value: number];

/** Converts rows to series over common times. Series without rows are left out. */
export function plotPoints(panel: PlotPanel, times: readonly number[], rows: readonly PlotRow[]): PlotAnswer {
  if (rows.length === 0) return { times, series: [] };
  const indexes = new Map(times.map((at, index) => [at, index]));
  const valuesByName = new Map<string, (number | null)[]>();
  for (const [at, name, value] of rows) {
    const index = indexes.get(at);
    if (index === undefined) continue;
    const values = valuesByName.get(name) ?? times.map(() => panel.missing);
    values[index] = value;
    valuesByName.set(name, values);
  }
  const series = panel.series.flatMap(({ name, tone }) => {
    const values = valuesByName.get(name);
    return values === undefined ? [] : [{ name, tone, values }];
  });
  return { times, series };
}
