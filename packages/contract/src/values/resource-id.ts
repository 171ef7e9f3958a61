import { BASE62_ALPHABET, base62DigitAt } from './base62.js';
import { fieldError } from './field-error.js';
import { randomUInt32 } from './random.js';

/** What the public ids of each kind of resource begin with. */
export const RESOURCE_PREFIX = {
  workspace: 'ws_',
  user: 'user_',
  link: 'link_',
  tag: 'tag_',
  folder: 'fold_',
  domain: 'dom_',
  partnerTag: 'ptag_',
  customer: 'cus_',
  utmTemplate: 'utm_',
  webhook: 'wh_',
  partner: 'pn_',
  program: 'prog_',
  programEnrollment: 'pge_',
  partnerGroup: 'grp_',
  commission: 'cm_',
  payout: 'po_',
  apiKey: 'key_',
  exportJob: 'exp_',
  exportSchedule: 'sched_',
  importJob: 'imp_',
  erasure: 'era_',
} as const;

/** Prefix by which a caller marks its own id of a resource where our id is expected. */
export const EXTERNAL_ID_PREFIX = 'ext_';

/**
 * Removes the `ext_` prefix from the query parameter `externalId`, which selects a link.
 *
 * @throws ApiError bad_request without the prefix
 */
export function parseExternalIdParameter(parameter: string): string {
  if (parameter.startsWith(EXTERNAL_ID_PREFIX)) return parameter.slice(EXTERNAL_ID_PREFIX.length);
  throw fieldError('invalid_format', 'externalId', `must begin with "${EXTERNAL_ID_PREFIX}"`, 'bad_request');
}

export type ResourceKind = keyof typeof RESOURCE_PREFIX;

const DIGITS = 11;
const UINT64_LIMIT = 1n << 64n;
let lastNumber = 0n;

/**
 * The public form of a 64-bit id: the prefix of its kind and 11 base62 digits.
 *
 * @param number the id as decimal text or bigint
 * @throws RangeError when it does not fit into 64 bits
 */
export function formatResourceId(kind: ResourceKind, number: string | bigint): string {
  let rest = BigInt(number);
  if (rest < 0n || rest >= UINT64_LIMIT) throw new RangeError(`not a 64-bit id: ${number}`);
  let text = '';
  for (let position = 0; position < DIGITS; position++) {
    text = (BASE62_ALPHABET[Number(rest % 62n)] ?? '') + text;
    rest /= 62n;
  }
  return RESOURCE_PREFIX[kind] + text;
}

/** The 64-bit number of a public id as decimal text (`UInt64` in ClickHouse); undefined when the text is no id of that kind. */
export function parseResourceId(kind: ResourceKind, id: string): string | undefined {
  const prefix = RESOURCE_PREFIX[kind];
  if (id.length !== prefix.length + DIGITS || !id.startsWith(prefix)) return undefined;
  let number = 0n;
  for (let position = prefix.length; position < id.length; position++) {
    const digit = base62DigitAt(id, position);
    if (digit < 0) return undefined;
    number = number * 62n + BigInt(digit);
  }
  return number < UINT64_LIMIT ? number.toString() : undefined;
}

/**
 * Creates the public id of a resource, of 42 bits of milliseconds and 22 random bits. The ids of one process strictly increase.
 *
 * @param nowMs whole milliseconds since the epoch
 */
export function createResourceId(kind: ResourceKind, nowMs: number): string {
  const fresh = (BigInt(nowMs) << 22n) | BigInt(randomUInt32() >>> 10);
  lastNumber = fresh > lastNumber ? fresh : lastNumber + 1n;
  return formatResourceId(kind, lastNumber);
}

/** Starts ids anew at the next time given. For tests, whose files share a process and have clocks of their own. */
export function restartResourceIds(): void {
  lastNumber = 0n;
}

/** The creation time of an id in milliseconds since the epoch; undefined when the text is no id of that kind. */
export function resourceIdTime(kind: ResourceKind, id: string): number | undefined {
  const number = parseResourceId(kind, id);
  return number === undefined ? undefined : Number(BigInt(number) >> 22n);
}
