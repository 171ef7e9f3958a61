import type { z } from 'zod';

/** The environment does not make sense; the message names every bad variable, one a line, and never a value. */
export class SettingsError extends Error {
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
