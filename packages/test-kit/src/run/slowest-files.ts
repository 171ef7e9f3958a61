import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';
import { LISTED_SECONDS_MIN } from './long-files-first.js';

const SHOWN = 15;
const MINIMUM_FILES = 2;
/** A run of fewer files is not one of the whole repository. */
const WHOLE_FILES_MIN = 100;

/** Prints the slowest files at the end of a run; their time includes imports and hooks. See `cpu-time.ts` for the CPU time. */
export class SlowestFiles implements Reporter {
  /** @param durations the file that gets the seconds of each longer file after a run of the whole repository, for `durations.json` */
  constructor(private readonly durations?: string) {}

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < MINIMUM_FILES) return;
    const files = modules
      .map((module) => {
        const { collectDuration, duration } = module.diagnostic();
        return {
          seconds: (collectDuration + duration) / 1000,
          cpuSeconds: (module.meta().cpuMs ?? 0) / 1000,
          project: module.project.name,
          path: module.relativeModuleId,
        };
      })
      .sort((one, other) => other.seconds - one.seconds);
    if (this.durations !== undefined && modules.length >= WHOLE_FILES_MIN) {
      const listed = files
        .filter(({ seconds }) => seconds >= LISTED_SECONDS_MIN)
        .map(({ seconds, path }) => [path, Math.round(seconds)]);
      writeFileSync(this.durations, `${JSON.stringify(Object.fromEntries(listed), undefined, 2)}\n`);
    }
    const lines = files
      .slice(0, SHOWN)
      .map(
        ({ seconds, cpuSeconds, project, path }) =>
          `${seconds.toFixed(1).padStart(7)} s  ${cpuSeconds.toFixed(1).padStart(6)} s of CPU  ${project.padEnd(8)}  ${path}`,
      );
    const ofAll = files.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    const title = ` Slowest files; all took ${ofAll.toFixed(0)} s of CPU without the shared ClickHouse:`;
    console.log(['', title, ...lines, ''].join('\n'));
  }
}
