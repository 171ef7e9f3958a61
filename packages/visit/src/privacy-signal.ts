import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { UNKNOWN } from './place.js';
import type { Visit } from './visit-reader.js';

/** Whether a header has the value `1`, also among others: a proxy or an extension may add it to that of the browser. */
function isOne(value: string | string[] | undefined): boolean {
  return value === '1' || (typeof value === 'string' && value.split(',').some((part) => part.trim() === '1'));
}

/** Whether the visitor asks not to be tracked: Global Privacy Control, or Do Not Track. */
export function asksForPrivacy(headers: IncomingHttpHeaders): boolean {
  return isOne(headers['sec-gpc']) || isOne(headers.dnt);
}

/**
 * The visit without data that can identify its visitor: without address and user agent, with the country as the only part of the place and
 * the host as the only part of the referrer, and with an identity that no other visit has. Names of device, browser and system stay, and so
 * does `clientAddress`, which is never stored, for rate limits.
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
