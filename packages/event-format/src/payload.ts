/**
 * Payload version 1: `{"v":1,…}` whose members after `v` are spliced into the API's answer as they stand. The click object
 * comes last and ends before its `ip`, which has a column of its own so that it can expire. `url` to `os` are one run of
 * text because the deprecated top-level fields repeat exactly that run.
 */
export const PAYLOAD_HEAD = '{"v":1,';
export const PAYLOAD_TAIL = '}}';

/** A payload of version 1 as an object. */
export interface EventPayload {
  readonly v: 1;
  readonly click: Readonly<Record<string, unknown>>;
  readonly sale?: unknown;
  readonly metadata?: unknown;
}

/** @throws Error when the payload is not of version 1 */
export function parsePayload(text: string): EventPayload {
  const payload = JSON.parse(text) as EventPayload;
  if (payload.v !== 1) throw new Error('a stored payload is not of version 1');
  return payload;
}
