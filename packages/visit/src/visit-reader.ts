import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createClientAddressReader } from './client-address.js';
import { mayKeepAddress, type Place, UNKNOWN, UNKNOWN_PLACE } from './geo.js';
import { type GeoDatabaseOptions, openGeoDatabase } from './geo-database.js';
import { createGeoHeaderReader, type GeoEdge, type GeoHeaderNames } from './geo-headers.js';
import { ownText } from './own-text.js';
import { readReferer } from './referer.js';
import { createAgentReader } from './user-agent.js';

export interface VisitReaderOptions extends GeoDatabaseOptions {
  /** Addresses or CIDR ranges whose forwarded headers are accepted. */
  readonly trustedProxies: readonly string[];
  /** Path of an mmdb file, read when the edge sends no country. */
  readonly geoDatabase?: string | undefined;
  /** The edge in front of the trusted proxies, or that is one; no other's headers are read. */
  readonly geoEdge?: GeoEdge | undefined;
  readonly geoHeaders?: GeoHeaderNames | undefined;
  /** Whose addresses are not to be stored: visitors' from the EU and GB, or perhaps from there, or everybody's. */
  readonly anonymisedAddresses?: 'eu' | 'all' | undefined;
  /** Secret of the installation: without it an address cannot be found from its identity. */
  readonly identitySalt: string;
}

/** What of a request the visit is read from. */
export interface VisitFacts {
  /** Address of the socket's other end. */
  readonly remoteAddress: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  /** Value of the query parameter `bot`. */
  readonly botParameter?: string | undefined;
  /** Takes the place of the Referer header, when a script reports what brought its page's visitor. */
  readonly referrer?: string | undefined;
}

/** What a request says about its visitor. Texts are final: `Unknown`, `(direct)` and `''` already applied. */
export interface Visit {
  /** The visitor's address, for limits and look-ups. Never stored. */
  readonly clientAddress: string;
  /** The address to store: `''` when it must not be kept. */
  readonly ip: string;
  readonly isBot: boolean;
  /** The browser only makes ready for a visit that may never come. */
  readonly isPrefetch: boolean;
  /** The visitor's connection is encrypted, by the word of the nearest proxy that is trusted. */
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
  /** Stands for the visitor wherever one is counted once; says nothing about the address. 96 bits in base64url. */
  readonly identity: string;
}

export interface VisitReader {
  (facts: VisitFacts): Visit;
  /** Stops following updates of the database file. */
  close(): void;
}

const IDENTITY_CHARS = 16;

/** The longest real agents (in-app browsers) are half of this; rows are bounded. */
const USER_AGENT_CHARS_MAX = 1024;

function saysPrefetch(purpose: string | string[] | undefined): boolean {
  return typeof purpose === 'string' && purpose.toLowerCase().includes('prefetch');
}

/** Browsers and proxies send them side by side: one may say something else. */
function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return saysPrefetch(headers['sec-purpose']) || saysPrefetch(headers.purpose) || saysPrefetch(headers['x-moz']);
}

/** Each proxy adds its word behind those before it, or replaces them. */
function saysHttps(headers: IncomingHttpHeaders): boolean {
  const value = headers['x-forwarded-proto'];
  const said = Array.isArray(value) ? value.at(-1) : value;
  if (said === undefined || said === 'https') return said !== undefined;
  return (
    said
      .slice(said.lastIndexOf(',') + 1)
      .trim()
      .toLowerCase() === 'https'
  );
}

function readForwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const value: string | string[] | undefined = headers['x-forwarded-for'];
  return Array.isArray(value) ? value.join(',') : value;
}

/** Reads visits; made once a process. */
export function createVisitReader(options: VisitReaderOptions): VisitReader {
  const readClientAddress = createClientAddressReader(options.trustedProxies);
  const readGeoHeaders = createGeoHeaderReader(options.geoEdge, options.geoHeaders);
  const readAgent = createAgentReader();
  const database = options.geoDatabase === undefined ? undefined : openGeoDatabase(options.geoDatabase, options);
  const { identitySalt } = options;
  const keepsNone = options.anonymisedAddresses === 'all';

  function findPlace(headers: IncomingHttpHeaders, address: string, isForwarded: boolean): Place {
    const place = isForwarded ? readGeoHeaders(headers) : undefined;
    return place ?? (address === '' ? undefined : database?.find(address)) ?? UNKNOWN_PLACE;
  }

  const read = (facts: VisitFacts): Visit => {
    const { headers } = facts;
    const { address, isForwarded } = readClientAddress(facts.remoteAddress, readForwardedFor(headers));
    const header = headers['user-agent'] ?? '';
    const userAgent = header.length > USER_AGENT_CHARS_MAX ? ownText(header.slice(0, USER_AGENT_CHARS_MAX)) : header;
    const agent = readAgent(userAgent);
    const place = findPlace(headers, address, isForwarded);
    const { referer, refererUrl } = readReferer(facts.referrer ?? headers.referer);
    return {
      clientAddress: address,
      ip: !keepsNone && mayKeepAddress(place.country) ? address : '',
      isBot: agent.isBot || facts.method === 'HEAD' || (facts.botParameter ?? '') !== '',
      isPrefetch: isPrefetch(headers),
      isSecure: isForwarded && saysHttps(headers),
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
