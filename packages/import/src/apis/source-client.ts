import { retryAfterMs } from '@waymark/contract';
import { AddressRefusedError, AnswerRefusedError, type Outbound, type OutboundResponse } from '@waymark/outbound';
import { ImportError } from '../model/import-error.js';
import { parseJsonYielding, TooManyValuesError, withoutControlCharacters } from './json-yielding.js';

const TIMEOUT_MS = 60_000;
const PAGE_BYTES_MAX = 64 * 1024 ** 2;
/**
 * Attempts of a request that fails, while the source has not answered any: its address may be wrong. Answers with 429 do not count: such a
 * request is repeated without limit.
 */
const FIRST_TRIES_MAX = 6;
/** The same for a source that has answered before: with the growing pauses, ten minutes, for a restart or maintenance. */
const TRIES_MAX = 16;
const BACKOFF_MS = 1_000;
const BACKOFF_MS_MAX = 60_000;
/** Shortest pause that a source may request, also for `Retry-After: 0`. */
const RETRY_AFTER_MS_MIN = 1_000;
/** Longest pause that a source may request: none has a longer rate-limit window. */
const RETRY_AFTER_MS_MAX = 3_600_000;
/** After so long, a request that fails is not repeated any more, however long the pauses that the source requests. */
const WAITED_MS_MAX = 3_600_000;
/** Statuses below 500 after which a request is repeated as well: timeouts, such as those of proxies under load, and refused early data. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425]);
const MESSAGE_CHARS = 200;
/** Enough of a body for a message, also if it has the API key many times. */
const QUOTED_BYTES = 64 * 1024;

export interface SourceClientDeps {
  readonly outbound: Outbound;
  readonly headers: Readonly<Record<string, string>>;
  /** The API key. Errors never contain it, although an answer may quote it. */
  readonly credential: string;
  /** Whether the source has answered an earlier run of the import. */
  readonly hasAnswered: boolean;
  /** Called before each request. @throws when the import is stopped */
  readonly beforeRequest?: (() => Promise<void>) | undefined;
  /** Waits that many milliseconds. @throws when the import is stopped meanwhile */
  readonly wait: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** How a request has ended, with the pause that the source requests. */
type Try =
  | { readonly end: 'answered'; readonly answer: unknown }
  | { readonly end: 'limited'; readonly requestedMs: number | undefined }
  | { readonly end: 'failed'; readonly reason: string; readonly requestedMs: number | undefined };

/** Reads JSON from a source. */
export interface SourceClient {
  /**
   * Sends a GET, or a POST with the fields of a form.
   *
   * @throws ImportError when the source refuses, then with the status of its answer, or keeps failing; what `wait` and `beforeRequest` throw
   */
  getJson(url: string, form?: Readonly<Record<string, string>>): Promise<unknown>;
}

/** The pause that the header `Retry-After` requests, within limits; undefined without the header. */
function requestedPauseMs(header: string | undefined, nowMs: number): number | undefined {
  const ms = retryAfterMs(header, nowMs);
  return ms === undefined ? undefined : Math.min(Math.max(ms, RETRY_AFTER_MS_MIN), RETRY_AFTER_MS_MAX);
}

const backoffMs = (tries: number) => Math.min(BACKOFF_MS * 2 ** tries, BACKOFF_MS_MAX);

/** Sends requests to a source. Waits after a 429, and repeats requests that fail. */
export function createSourceClient(deps: SourceClientDeps): SourceClient {
  const { outbound, headers, credential, beforeRequest, wait, now } = deps;
  let { hasAnswered } = deps;

  /** The beginning of a text of the source, without the API key, which is replaced first: the end would cut it in two otherwise. */
  function quoted(text: string): string {
    const open = withoutControlCharacters(text);
    return (credential === '' ? open : open.replaceAll(credential, '…')).slice(0, MESSAGE_CHARS);
  }
  const shortBody = (body: Buffer) => quoted(body.toString('utf8', 0, QUOTED_BYTES));

  async function attempt(url: string, form: Readonly<Record<string, string>> | undefined) {
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    const sent = { url, timeoutMs: TIMEOUT_MS, responseBytesMax: PAGE_BYTES_MAX };
    return body === undefined
      ? outbound.send({ ...sent, method: 'GET', headers: { accept: 'application/json', ...headers } })
      : outbound.send({
          ...sent,
          method: 'POST',
          body,
          headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json', ...headers },
        });
  }

  async function checked(origin: string, { status, body, location, isTruncated }: OutboundResponse): Promise<unknown> {
    if (status === 401) throw new ImportError(`${origin} refuses the credentials (401)`, status);
    // The body has the reason: the plan of the account, or the permissions of the key.
    if (status === 403) throw new ImportError(`${origin} refuses the credentials (403): ${shortBody(body)}`, status);
    if (status >= 300 && status < 400) {
      throw new ImportError(`${origin} redirects to ${quoted(location ?? 'nowhere')}: give that address`);
    }
    if (status !== 200) throw new ImportError(`${origin} answers ${status}: ${shortBody(body)}`, status);
    if (isTruncated) throw new ImportError(`${origin} answers more than 64 MB for one page`);
    try {
      return await parseJsonYielding(body);
    } catch (err) {
      if (err instanceof TooManyValuesError) throw new ImportError(`${origin} answers ${err.message} for one page`);
      throw new ImportError(`${origin} does not answer JSON: ${shortBody(body)}`);
    }
  }

  /** Sends the request once. The result does not contain the answer's body, which would be in memory during the wait. */
  async function tryOnce(url: string, form: Readonly<Record<string, string>> | undefined): Promise<Try> {
    const { origin } = new URL(url);
    try {
      const response = await attempt(url, form);
      const requestedMs = requestedPauseMs(response.retryAfter, now());
      if (response.status === 429) return { end: 'limited', requestedMs };
      if (response.status >= 500 || PASSING_STATUSES.has(response.status))
        return { end: 'failed', reason: `answers ${response.status}`, requestedMs };
      return { end: 'answered', answer: await checked(origin, response) };
    } catch (err) {
      if (err instanceof ImportError) throw err;
      if (err instanceof AddressRefusedError || err instanceof AnswerRefusedError)
        throw new ImportError(`${origin} cannot be read: ${err.message}`);
      return { end: 'failed', reason: err instanceof Error ? err.message : String(err), requestedMs: undefined };
    }
  }

  return {
    async getJson(url, form) {
      for (let failures = 0, waits = 0, waitedMs = 0; ; ) {
        await beforeRequest?.();
        const result = await tryOnce(url, form);
        if (result.end === 'answered') {
          hasAnswered = true;
          return result.answer;
        }
        const { requestedMs } = result;
        if (result.end === 'limited') {
          await wait(requestedMs ?? backoffMs(waits++));
          continue;
        }
        failures++;
        if (failures >= (hasAnswered ? TRIES_MAX : FIRST_TRIES_MAX) || waitedMs > WAITED_MS_MAX)
          throw new ImportError(`${new URL(url).origin} does not answer: ${result.reason}`);
        const pauseMs = Math.max(requestedMs ?? 0, backoffMs(failures - 1));
        waitedMs += pauseMs;
        await wait(pauseMs);
      }
    },
  };
}
