import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/** Writes how many errors of a run belong to no test, which vitest's JSON report leaves out. `scripts/failed-files.mjs` reads it. */
export class UnhandledErrors implements Reporter {
  constructor(private readonly file: string) {}

  onTestRunEnd(_modules: unknown, errors: readonly unknown[]): void {
    writeFileSync(this.file, String(errors.length));
  }
}
