import { z } from 'zod';

/** A check of a text's form, which fails with that rule as message; later checks than a failed one of its length do not run. */
export function textForm(isOfForm: (text: string) => boolean, rule: string) {
  return z.check<string>(({ value, issues }) => {
    if (isOfForm(value)) return;
    issues.push({ code: 'invalid_format', format: 'regex', input: value, message: rule, continue: true });
  });
}
