import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createClientAddressReader } from './client-address.js';
import { copyText } from './copy-text.js';
import { type GeoDatabaseOptions, openGeoDatabase } from './geo-database.js';
import { createGeoHeaderReader, type GeoEdge, type GeoHeaderNames } from './geo-headers.js';
import { mayStoreAddress, type Place, UNKNOWN, UNKNOWN_PLACE } from './place.js';
import { readReferer } from './referer.js';
import { createAgentReader } from './user-agent.js';

export interface VisitReaderOptions extends GeoDatabaseOptions {
  /** Addresses or CIDR ranges whose forwarded headers are accepted. */
  readonly trustedProxies: readonly string[];
  /** Path of an mmdb file, used when the edge sends no country. */
  readonly geoDatabase?: string | undefined;
  /** The CDN edge in front of, or among, the trusted proxies; headers of other edges are ignored. */
  readonly geoEdge?: GeoEdge | undefined;
  readonly geoHeaders?: GeoHeaderNames | undefined;
  /** Whose addresses are not stored: `eu` (default) for visitors from the EU, GB or an unknown country; `all` for all visitors. */
  readonly anonymisedAddresses?: 'eu' | 'all' | undefined;
  /** Secret of the installation. Nobody without it can find the address of an identity by hashing all addresses. */
  readonly identitySalt: string;
}

/** The parts of a request that a visit is derived from. */
export interface VisitRequest {
  /** Address of the socket's other end. */
  readonly remoteAddress: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  /** Value of the query parameter `bot`. */
  readonly botParameter?: string | undefined;
  /** Replaces the Referer header when a script reports the referrer of its page. */
  readonly referrer?: string | undefined;
}

/** A visit as derived from a request. Absent values are replaced already, by `Unknown`, `(direct)` or `''`. */
export interface Visit {
  /** The visitor's address, for rate limits and look-ups. Never stored. */
  readonly clientAddress: string;
  /** The address to store; `''` when it must not be stored. */
  readonly ip: string;
  readonly isBot: boolean;
  /** The browser prefetches the page; the visitor may never open it. */
  readonly isPrefetch: boolean;
  /** The visitor's connection is encrypted, according to the nearest trusted proxy. */
  readonly isSecure: boolean;
  readonly device: string;
  readonly browser: string;
  readonly os: string;
  readonly userAgent: string;
  readonly country: string;
  /** Subdivision only (`CA`). */
  readonly region: string;
  readonly city: string;
  readonly continent: string;
  readonly referer: string;
  readonly refererUrl: string;
  /** Pseudonym of the visitor for deduplication; does not reveal the address. 96 bits in base64url. */
  readonly identity: string;
}

export interface VisitReader {
  (request: VisitRequest): Visit;
  /** Stops watching the database file. */
  close(): void;
}

const IDENTITY_CHARS = 16;

/** Limit on a stored user agent, which bounds the size of a row: twice the longest real one, of an in-app browser. */
const USER_AGENT_CHARS_MAX = 1024;

function containsPrefetch(purpose: string | string[] | undefined): boolean {
  return typeof purpose === 'string' && purpose.toLowerCase().includes('prefetch');
}

/** Whether a browser prefetches or prerenders. Browsers and proxies may send several of these headers with different values; any one of them is enough. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return (
    containsPrefetch(headers['sec-purpose']) || containsPrefetch(headers.purpose) || containsPrefetch(headers['x-moz'])
  );
}

/** Each proxy appends its protocol to the header or replaces it, so the last value counts. */
function isForwardedOverHttps(headers: IncomingHttpHeaders): boolean {
  const value = headers['x-forwarded-proto'];
  const protocols = Array.isArray(value) ? value.at(-1) : value;
  if (protocols === undefined) return false;
  if (protocols === 'https') return true;
  const last = protocols.slice(protocols.lastIndexOf(',') + 1);
  return last.trim().toLowerCase() === 'https';
}

function readForwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const value: string | string[] | undefined = headers['x-forwarded-for'];
  return Array.isArray(value) ? value.join(',') : value;
}

/** Creates the function that derives visits from requests; once per process. */
export function createVisitReader(options: VisitReaderOptions): VisitReader {
  const readClientAddress = createClientAddressReader(options.trustedProxies);
  const readGeoHeaders = createGeoHeaderReader(options.geoEdge, options.geoHeaders);
  const readAgent = createAgentReader();
  const database = options.geoDatabase === undefined ? undefined : openGeoDatabase(options.geoDatabase, options);
  const { identitySalt } = options;
  const anonymisesAll = options.anonymisedAddresses === 'all';

  function findPlace(headers: IncomingHttpHeaders, address: string, isForwarded: boolean): Place {
    const place = isForwarded ? readGeoHeaders(headers) : undefined;
    return place ?? (address === '' ? undefined : database?.find(address)) ?? UNKNOWN_PLACE;
  }

  const read = (request: VisitRequest): Visit => {
    const { headers } = request;
    const { address, isForwarded } = readClientAddress(request.remoteAddress, readForwardedFor(headers));
    const header = headers['user-agent'] ?? '';
    const userAgent = header.length > USER_AGENT_CHARS_MAX ? copyText(header.slice(0, USER_AGENT_CHARS_MAX)) : header;
    const agent = readAgent(userAgent);
    const place = findPlace(headers, address, isForwarded);
    const { referer, refererUrl } = readReferer(request.referrer ?? headers.referer);
    return {
      clientAddress: address,
      ip: !anonymisesAll && mayStoreAddress(place.country) ? address : '',
      isBot: agent.isBot || request.method === 'HEAD' || (request.botParameter ?? '') !== '',
      isPrefetch: isPrefetch(headers),
      isSecure: isForwarded && isForwardedOverHttps(headers),
      device: agent.device,
      browser: agent.browser,
      os: agent.os,
      userAgent: userAgent === '' ? UNKNOWN : userAgent,
      country: place.country,
      region: place.region,
      city: place.city,
      continent: place.continent,
      referer,
      refererUrl,
      identity: hash('sha256', `${identitySalt}${address}-${userAgent}`, 'base64url').slice(0, IDENTITY_CHARS),
    };
  };
  return Object.assign(read, { close: () => database?.close() });
}
