import { expect } from 'vitest';
import { FAULTS } from '../fault-length.js';
import type { ReportLine } from '../fault-report.js';
import { compareWithStore } from './compare-with-store.js';
import { Traffic, type TrafficOptions, type WritePath } from './write-path.js';

/** Faults during traffic, and a name for the report. */
export interface Scenario {
  readonly scenario: string;
  /** The injected faults, for the report. */
  readonly faults: string;
  readonly options?: TrafficOptions;
}

/**
 * Does `work` during traffic, then expects every acknowledged event in ClickHouse once, and every view to agree.
 *
 * @param report gets the line of the scenario
 */
export async function runScenario(
  path: WritePath,
  report: ReportLine[],
  { scenario, faults, options = {} }: Scenario,
  work: (traffic: Traffic) => Promise<void>,
): Promise<Traffic> {
  const traffic = new Traffic(path, options);
  await traffic.progress(FAULTS.eventsBetweenKills / 4);
  await work(traffic);
  await traffic.progress(FAULTS.eventsBetweenKills / 4);
  await traffic.stop();
  const result = await compareWithStore(path.client, traffic.workspaceId, traffic.sentEvents);
  report.push({
    scenario,
    faults,
    events: result.acknowledged,
    lost: result.lost.length,
    twice: result.twice.length,
    viewsEqual: result.viewsDiffer.length === 0,
  });
  // A few names are enough for the error message.
  const sample = {
    lost: result.lost.slice(0, 5),
    twice: result.twice.slice(0, 5),
    views: result.viewsDiffer.slice(0, 5),
  };
  expect({ ...sample, lostCount: result.lost.length }).toEqual({ lost: [], twice: [], views: [], lostCount: 0 });
  expect(traffic.sentEvents.failedClicks).toEqual([]);
  return traffic;
}

/** Calls `kill` repeatedly during traffic. */
export async function repeatedly(
  traffic: Traffic,
  kill: (number: number) => Promise<void>,
  times = FAULTS.kills,
): Promise<void> {
  for (let number = 0; number < times; number++) {
    await kill(number);
    await traffic.progress(FAULTS.eventsBetweenKills);
  }
}
