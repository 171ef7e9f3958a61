import type { IncomingMessage } from 'node:http';
import { randomUInt32 } from '@waymark/contract';

/** What a proxy may send: long enough for every usual id, nothing that could forge a log line or a header. */
const SANE_ID = /^[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}$/;

const PROCESS_PART = randomUInt32().toString(36) + randomUInt32().toString(36);
let count = 0;

/** The id a proxy gave the request, else one that no other process makes. */
export function requestId(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  if (typeof given === 'string' && SANE_ID.test(given)) return given;
  count += 1;
  return `${PROCESS_PART}-${count.toString(36)}`;
}
