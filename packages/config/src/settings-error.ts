import type { z } from 'zod';

/** Thrown for invalid settings. The message names every invalid variable, one per line, and never contains a value. */
export class SettingsError extends Error {
  /** `NAME: what is wrong`, for each invalid variable. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`invalid settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }

  static fromIssues(issues: readonly z.core.$ZodIssue[]): SettingsError {
    return new SettingsError(issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  }
}
