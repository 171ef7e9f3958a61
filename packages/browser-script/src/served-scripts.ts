import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { isNoneMatchHit, SCRIPT_PATHS } from '@waymark/contract';

/** The built variants and their compressed copies. They are in `dist` also when this module runs from `src`. */
const DIRECTORY = new URL('../dist/variants/', import.meta.url);

/** Content codings in the order of preference, with the suffixes of their files. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
  [undefined, ''],
] as const;
type Coding = (typeof CODINGS)[number][0];

interface Representation {
  readonly coding: Coding;
  readonly body: Buffer;
  readonly etag: string;
}

interface Script {
  /** Differs whenever the script differs. */
  readonly version: string;
  /** For the attribute `integrity` of a script tag. */
  readonly integrity: string;
  readonly representations: readonly Representation[];
}

/** The response to a request for a script. */
export interface ScriptResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const paths: ReadonlySet<string> = new Set(SCRIPT_PATHS);
/** The variants that were requested before, by path. */
const cachedScripts = new Map<string, Script>();
const EMPTY = Buffer.alloc(0);

/** Browsers request the script at most once an hour, mostly answered with a 304; after an upgrade they have the new one within the hour. */
const CACHE_CONTROL = 'public, max-age=3600';
/** For an address with the version of the script, whose content never changes. */
const VERSION_CACHE_CONTROL = 'public, max-age=31536000, immutable';

const HEADERS = {
  'content-type': 'text/javascript; charset=utf-8',
  vary: 'accept-encoding',
  'x-content-type-options': 'nosniff',
  // Pages of every site load it, those with `integrity` with CORS.
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
};

function readScript(path: string): Script {
  const name = path.slice('/analytics/'.length);
  const bodies = CODINGS.map(([coding, ending]) => ({ coding, body: readFileSync(new URL(name + ending, DIRECTORY)) }));
  const hash = createHash('sha384')
    .update(bodies.at(-1)?.body ?? EMPTY)
    .digest();
  const version = hash.toString('base64url').slice(0, 22);
  return {
    version,
    integrity: `sha384-${hash.toString('base64')}`,
    representations: bodies.map(({ coding, body }) => ({
      coding,
      body,
      etag: `"${version}${coding ? `-${coding}` : ''}"`,
    })),
  };
}

/** Reads a variant at its first request; later ones are answered from memory. */
function scriptAt(path: string): Script {
  const cached = cachedScripts.get(path);
  if (cached !== undefined) return cached;
  const script = readScript(path);
  cachedScripts.set(path, script);
  return script;
}

/** Codings that the client accepts; those with a weight of 0 are refused (RFC 9110, 12.5.3). */
function acceptedCodings(header: string | undefined): readonly string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((entry) => entry.split(';'))
    .filter(([, weight = '']) => !/^\s*q=0(\.0*)?\s*$/.test(weight))
    .map(([coding = '']) => coding.trim());
}

const versionQuery = ({ version }: Script) => `v=${version}`;

/** Whether a path is that of a variant, without its query. */
export function isScriptPath(path: string): boolean {
  return paths.has(path);
}

/**
 * The answer to a request for a variant of the browser script (docs/reference/browser-script.md). An address of another version, such as one
 * from before an upgrade, is answered as one without a version.
 *
 * @param path one of {@link isScriptPath}
 * @param query of the address, without `?`
 * @throws when the variants have not been built
 */
export function scriptResponse(path: string, requestHeaders: IncomingHttpHeaders, query = ''): ScriptResponse {
  const script = scriptAt(path);
  const accepted = acceptedCodings(requestHeaders['accept-encoding']);
  const chosen =
    script.representations.find(({ coding }) => coding === undefined || accepted.includes(coding)) ??
    script.representations.at(-1);
  if (chosen === undefined) throw new Error(`${path} has no representations`);
  const cacheControl = query === versionQuery(script) ? VERSION_CACHE_CONTROL : CACHE_CONTROL;
  const headers: Record<string, string> = { ...HEADERS, 'cache-control': cacheControl, etag: chosen.etag };
  const etags = script.representations.map(({ etag }) => etag);
  if (isNoneMatchHit(requestHeaders['if-none-match'], etags)) return { status: 304, headers, body: EMPTY };
  if (chosen.coding !== undefined) headers['content-encoding'] = chosen.coding;
  headers['content-length'] = String(chosen.body.length);
  return { status: 200, headers, body: chosen.body };
}

/**
 * The address of the current version of a variant, and its hash for the attribute `integrity`.
 *
 * @param path one of {@link isScriptPath}
 */
export function scriptVersion(path: string): { readonly address: string; readonly integrity: string } {
  const script = scriptAt(path);
  return { address: `${path}?${versionQuery(script)}`, integrity: script.integrity };
}
