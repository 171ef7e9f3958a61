import type { IncomingMessage } from 'node:http';
import { randomUInt32 } from '@waymark/contract';

/** Ids that are accepted from a proxy: long enough for common formats, with no character that could inject log lines or headers. */
const VALID_ID = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;

const PROCESS_PART = randomUInt32().toString(36) + randomUInt32().toString(36);
let count = 0;

/** The request id set by a proxy, else a new one that is unique across processes. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const fromHeader = request.headers['x-request-id'];
  if (typeof fromHeader === 'string' && VALID_ID.test(fromHeader)) return fromHeader;
  count += 1;
  return `${PROCESS_PART}-${count.toString(36)}`;
}
