import { processCpuMicroseconds } from '../lib/process-cpu.js';
import { median } from '../lib/statistics.js';
import type { Family } from './families/event-families.js';
import type { RunFamily } from './runners.js';

export const ROUNDS = 20;
/** A run that takes longer than this is repeated less often. */
const SLOW_MS = 3000;
const SLOW_ROUNDS = 5;

/** Median milliseconds of each system, by name, its CPU time of the engine, and the number of rows of each result. */
export interface Compared {
  readonly family: Family;
  readonly ms: Readonly<Record<string, number>>;
  /** Mean milliseconds; unlike those of the clock they hold on a machine that is busy with something else. */
  readonly cpuMs: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, number>>;
}

/**
 * Runs a query on every system in turn, repeatedly; the first round only warms up.
 *
 * @param enginePid process of the engine that all of them use
 */
export async function compare(
  family: Family,
  systems: Readonly<Record<string, RunFamily>>,
  enginePid: number,
): Promise<Compared> {
  const times: Record<string, number[]> = {};
  const cpu: Record<string, number> = {};
  const rows: Record<string, number> = {};
  let rounds = ROUNDS;
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(systems)) {
      const startCpu = processCpuMicroseconds(enginePid);
      const start = performance.now();
      rows[name] = await run(family);
      const took = performance.now() - start;
      if (took > SLOW_MS) rounds = SLOW_ROUNDS;
      if (round === 0) continue;
      times[name] = [...(times[name] ?? []), took];
      cpu[name] = (cpu[name] ?? 0) + (processCpuMicroseconds(enginePid) - startCpu) / 1000;
    }
  }
  const byName = (of: (name: string, all: readonly number[]) => number) =>
    Object.fromEntries(Object.entries(times).map(([name, all]) => [name, of(name, all)]));
  return {
    family,
    rows,
    ms: byName((_name, all) => median(all)),
    cpuMs: byName((name, all) => (cpu[name] ?? 0) / all.length),
  };
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
