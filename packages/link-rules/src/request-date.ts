import type { LinkRecord } from '@waymark/catalog';
import type { UpdateLinkBody } from '@waymark/contract';
import { parseInstant } from '@waymark/event-query';

const DATE_FIELDS = ['expiresAt', 'testStartedAt', 'testCompletedAt'] as const;

/**
 * The dates of a body in stored form: ISO 8601 UTC with milliseconds, null for none. Dates that are not in the body are absent.
 *
 * @throws ApiError unprocessable_entity for an invalid date
 */
export function dateFields(
  body: UpdateLinkBody,
  nowMs: number,
): Partial<Pick<LinkRecord, (typeof DATE_FIELDS)[number]>> {
  const present = DATE_FIELDS.filter((field) => body[field] !== undefined);
  return Object.fromEntries(
    present.map((field) => {
      const text = body[field];
      return [field, text ? new Date(parseInstant(field, text, nowMs)).toISOString() : null];
    }),
  );
}
