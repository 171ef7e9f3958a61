import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { UNKNOWN } from './place.js';
import type { Visit } from './visit-reader.js';

/** Whether the visitor asks not to be tracked: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(headers: IncomingHttpHeaders): boolean {
  return headers['sec-gpc'] === '1' || headers.dnt === '1';
}

/**
 * The visit without what can identify its visitor: no address, user agent, place below the country or page of the referrer, and an
 * identity that no other visit has. Classes of devices, browsers and systems stay. `clientAddress`, which is never stored, stays for rate limits.
 */
export function withoutIdentity(visit: Visit): Visit {
  return {
    ...visit,
    ip: '',
    userAgent: UNKNOWN,
    region: UNKNOWN,
    city: UNKNOWN,
    refererUrl: visit.referer,
    identity: randomBytes(12).toString('base64url'),
  };
}
