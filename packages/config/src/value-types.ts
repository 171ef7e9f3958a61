import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseClickHouseAddress } from '@waymark/clickhouse';
import { parseLinkHost } from '@waymark/contract';
import { parseRedisAddress } from '@waymark/redis';
import { z } from 'zod';

// Types of environment variables. Their error messages never contain the value, which may be a secret.

/** A whole number in decimal digits, within bounds. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`);
}

export const port = wholeNumber(0, 65_535);

export const flag = z.stringbool({ error: 'must be true or false' });

/** A path, made absolute. */
const path = z.string().transform((value) => resolve(value));

function mayBeDirectory(value: string): boolean {
  try {
    return statSync(value).isDirectory();
  } catch (err) {
    // ENOTDIR: a parent in the path is a file. Other errors are left to the code that uses the path.
    return (err as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}

/** A directory, or a path that does not exist yet. */
export const directory = path.refine(mayBeDirectory, 'must be a directory, below directories');

function isReadableFile(value: string): boolean {
  try {
    accessSync(value, constants.R_OK);
    return statSync(value).isFile();
  } catch {
    return false;
  }
}

export const readableFile = path.refine(isReadableFile, 'must be a file that can be read');

// The lookbehind keeps this linear: each run of slashes is scanned once.
const withoutTrailingSlash = (value: string) => value.replace(/(?<!\/)\/+$/, '');

/** A URL with one of the given schemes, without a trailing slash. */
export function url(...schemes: readonly string[]) {
  const allowed = schemes.map((scheme) => `${scheme}://`).join(' or ');
  return z
    .string()
    .refine(
      (value) => URL.canParse(value) && schemes.some((scheme) => value.startsWith(`${scheme}://`)),
      `must be a URL starting ${allowed}`,
    )
    .transform(withoutTrailingSlash);
}

/** A text that `parse` accepts. It throws for another one, with a message that continues the name of the setting. */
function parsed(parse: (value: string) => string) {
  return z.string().transform((value, ctx) => {
    try {
      return parse(value);
    } catch (err) {
      ctx.addIssue({ code: 'custom', message: (err as Error).message, input: undefined });
      return z.NEVER;
    }
  });
}

/** A URL without a trailing slash. @param check throws for an invalid one */
function storeUrl(check: (value: string) => unknown) {
  return parsed((value) => {
    check(value);
    return withoutTrailingSlash(value);
  });
}

/** A Redis URL in any of its forms: one server, by its address or its unix socket, Sentinels, or a cluster. */
export const redisUrl = storeUrl(parseRedisAddress);

/** The URL of a ClickHouse server, by its address or its unix socket. */
export const clickHouseUrl = storeUrl(parseClickHouseAddress);

/** A comma between two URLs: a scheme follows. The commas inside a URL with several hosts do not match. */
const BETWEEN_REDIS_URLS = /,\s*(?=rediss?(?:\+[a-z]+)?:\/\/)/;

/** Redis URLs in any of their forms, separated by commas. */
export const redisUrls = z
  .string()
  .transform((value) => value.split(BETWEEN_REDIS_URLS).map((entry) => entry.trim()))
  .pipe(z.array(redisUrl));

/** A public base URL that paths are appended to: no query, no fragment, no credentials. */
export const publicUrl = url('http', 'https').refine((value) => {
  if (!URL.canParse(value)) return true;
  const { search, hash, username, password } = new URL(value);
  return search + hash + username + password === '';
}, 'must have no query, fragment or credentials');

function isAddressRange(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

const commaSeparated = z.string().transform((value) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

/** Comma-separated addresses or CIDR ranges. */
export const addressRanges = commaSeparated.refine(
  (entries) => entries.every(isAddressRange),
  'must be addresses or CIDR ranges separated by commas',
);

/** As `addressRanges`, or `none` alone. */
export const addressRangesOrNone = commaSeparated.refine(
  (entries) => entries.join() === 'none' || entries.every(isAddressRange),
  'must be addresses or CIDR ranges separated by commas, or none',
);

/** Name of an HTTP header, in lower case as Node reports it. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')
  .toLowerCase();

export const linkHost = parsed(parseLinkHost);

/** Too long to guess, and made of characters that are allowed in a header. */
export const ADMIN_KEY_PATTERN = /^[\x21-\x7e]{32,256}$/;
export const ADMIN_KEY_MESSAGE = 'must be 32 to 256 characters, all of them visible ASCII';
export const adminKey = z.string().regex(ADMIN_KEY_PATTERN, ADMIN_KEY_MESSAGE);

const HEADER_PAIR = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+)=([\x21-\x7e]*)$/;

function headerPair(text: string): readonly [string, string] | undefined {
  const [, name, encoded] = HEADER_PAIR.exec(text.trim()) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  try {
    const value = decodeURIComponent(encoded);
    return /^[\x20-\x7e]*$/.test(value) ? [name, value] : undefined;
  } catch {
    return undefined;
  }
}

/** Headers in OpenTelemetry's format: `name=value` pairs separated by commas, values percent-encoded. */
export const headerList = z
  .string()
  .transform((text) => text.split(',').map(headerPair))
  .refine(
    (pairs) => pairs.every((pair) => pair !== undefined),
    'must be name=value pairs separated by commas, values percent-encoded',
  )
  .transform(
    (pairs): Readonly<Record<string, string>> => Object.fromEntries(pairs.filter((pair) => pair !== undefined)),
  );

/** A fraction from 0 to 1. */
export const share = z
  .string()
  .regex(/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?|\.\d{1,9})$/, 'must be a number from 0 to 1')
  .transform(Number);

export const HEX_KEY_PATTERN = /^[0-9a-fA-F]{64}$/;
export const HEX_KEY_MESSAGE = 'must be 64 hexadecimal digits';
export const hexKey = z.string().regex(HEX_KEY_PATTERN, HEX_KEY_MESSAGE);
