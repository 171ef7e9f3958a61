import { z } from 'zod';

/** A zod check of a text's format, with `rule` as the error message. It does not run after a failed check with `abort`. */
export function formatCheck(isValid: (text: string) => boolean, rule: string) {
  return z.check<string>(({ value, issues }) => {
    if (isValid(value)) return;
    issues.push({ code: 'invalid_format', format: 'regex', input: value, message: rule, continue: true });
  });
}
