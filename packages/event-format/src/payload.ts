/**
 * Payload version 1: `{"v":1,…}`. The members after `v` are copied into the API response as text. The click object is the last
 * member and lacks its last field, `ip`, which has a column of its own so that it can expire. The fields `url` to `os` are
 * adjacent, because the deprecated top-level fields of the response repeat exactly that text.
 */
export const PAYLOAD_HEAD = '{"v":1,';
/** The end of a payload: of the click object, and of the payload itself. */
export const PAYLOAD_TAIL = '}}';

/** A version 1 payload, parsed. */
export interface EventPayload {
  readonly v: 1;
  readonly click: Readonly<Record<string, unknown>>;
  readonly sale?: unknown;
  readonly metadata?: unknown;
}

/**
 * Parses a stored payload.
 *
 * @throws Error when the payload is not of version 1
 */
export function parsePayload(text: string): EventPayload {
  const payload = JSON.parse(text) as EventPayload;
  if (payload.v !== 1) throw new Error('a stored payload is not of version 1');
  return payload;
}
