import { ApiError } from '@waymark/contract';

const ISO_DATE = /^\d{4}-\d{2}-\d{2}$/;
const ISO_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/** The instant of an ISO date; without a zone it is UTC, a bare date is its noon (spec 1.8). */
function parse(text: string): number {
  if (ISO_DATE.test(text)) return Date.parse(`${text}T12:00:00Z`);
  const match = ISO_TIME.exec(text);
  if (match === null) return Number.NaN;
  const time = text.replace(' ', 'T').toUpperCase();
  return Date.parse(match[1] === undefined ? `${time}Z` : time);
}

/**
 * A date of a request as it is stored: ISO-8601 UTC with milliseconds; null for none.
 *
 * @throws ApiError unprocessable_entity for anything but an ISO date
 */
export function requestDate(field: string, value: string | null | undefined): string | null {
  if (value === undefined || value === null || value === '') return null;
  const ms = parse(value.trim());
  if (Number.isNaN(ms))
    throw new ApiError('unprocessable_entity', `invalid_format: ${field}: not a valid ISO-8601 date`);
  return new Date(ms).toISOString();
}
