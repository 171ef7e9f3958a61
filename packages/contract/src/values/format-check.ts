import { z } from 'zod';

/** A zod check of the format of a text, with `rule` as its error message. It does not run if an earlier check with `abort` has failed. */
export function formatCheck(isValid: (text: string) => boolean, rule: string) {
  return z.check<string>(({ value, issues }) => {
    if (isValid(value)) return;
    issues.push({ code: 'invalid_format', format: 'regex', input: value, message: rule, continue: true });
  });
}
