import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 15;
const MINIMUM_FILES = 2;

/** Prints the slowest files at the end of a run; their time includes imports and hooks. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length < MINIMUM_FILES) return;
    const files = modules
      .map((module) => {
        const { collectDuration, duration } = module.diagnostic();
        return {
          seconds: (collectDuration + duration) / 1000,
          project: module.project.name,
          path: module.relativeModuleId,
        };
      })
      .sort((one, other) => other.seconds - one.seconds);
    const lines = files
      .slice(0, SHOWN)
      .map(({ seconds, project, path }) => `${seconds.toFixed(1).padStart(7)} s  ${project.padEnd(8)}  ${path}`);
    console.log(['', ' Slowest files:', ...lines, ''].join('\n'));
  }
}
