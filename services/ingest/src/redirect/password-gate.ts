import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import type { RateLimiter } from '@waymark/rate-limit';
import { readCookie } from './cookies.js';
import type { LockState } from './password-page.js';

/** What of a visit may open a link. */
export interface Keys {
  /** `Cookie` header. */
  readonly cookies: string | undefined;
  /** A password, as `pw` in the query or from the form; `''` counts as none. */
  readonly given: string | null;
}

export interface Unlocking {
  readonly lock: LockState;
  /** The password given is the link's. */
  readonly isPasswordRight: boolean;
  /** When a blocked visitor may try again. */
  readonly retryAfterSeconds?: number;
}

/** Guards links that have a password (spec 7.1, row 4). */
export interface PasswordGate {
  /** A wrong password counts as a try. */
  unlock(link: LinkRecord, keys: Keys): Promise<Unlocking>;
  /**
   * `Set-Cookie` that opens the link from now on, as long as it keeps its password.
   *
   * @param path where the browser shall send it
   */
  cookie(link: LinkRecord, path: string): string;
}

export interface PasswordGateOptions {
  /** Secret of the installation: what cookies hold says nothing about passwords without it. */
  readonly secret: Buffer;
  readonly passwordOf: (link: LinkRecord) => string | null;
  readonly limiter: Pick<RateLimiter, 'take' | 'look'>;
}

const BUCKET = 'link-password';
const TRIES_MAX = 30;
const TRIES_WINDOW_SECONDS = 600;

const cookieName = (link: LinkRecord) => `dub_password_${link.id}`;

export function createPasswordGate({ secret, passwordOf, limiter }: PasswordGateOptions): PasswordGate {
  // The password itself is not kept: a record lives in memory much longer than a request.
  const tokens = new WeakMap<LinkRecord, string>();

  const tokenFor = (link: LinkRecord, password: string): string =>
    createHmac('sha256', secret).update(`${link.id}\0${password}`).digest('base64url');

  function tokenOf(link: LinkRecord): string {
    let token = tokens.get(link);
    if (token === undefined) {
      token = tokenFor(link, passwordOf(link) ?? '');
      tokens.set(link, token);
    }
    return token;
  }

  /** Compares in a time that tells nothing about the token. */
  function isToken(link: LinkRecord, text: string): boolean {
    const token = Buffer.from(tokenOf(link));
    const given = Buffer.from(text);
    return given.length === token.length && timingSafeEqual(given, token);
  }

  /**
   * Only wrong passwords are tries: whoever knows the right one is not in anybody's way. Of guesses at the same moment the
   * right one opens nothing either once too many wrong ones came before it, since it is looked up behind their counts.
   */
  async function tryPassword(link: LinkRecord, given: string): Promise<Unlocking> {
    const isRight = isToken(link, tokenFor(link, given));
    const tries = isRight
      ? await limiter.look(link.id, BUCKET, TRIES_MAX, TRIES_WINDOW_SECONDS)
      : await limiter.take(link.id, BUCKET, TRIES_MAX, TRIES_WINDOW_SECONDS);
    if (!tries.allowed) {
      return { lock: 'blocked', isPasswordRight: false, retryAfterSeconds: tries.retryAfterSeconds };
    }
    return { lock: isRight ? 'open' : 'wrong', isPasswordRight: isRight };
  }

  return {
    async unlock(link, { cookies, given }) {
      const cookie = readCookie(cookies, cookieName(link));
      if (cookie !== undefined && isToken(link, cookie)) {
        const isPasswordRight = given !== null && given !== '' && isToken(link, tokenFor(link, given));
        return { lock: 'open', isPasswordRight };
      }
      return given === null || given === '' ? { lock: 'closed', isPasswordRight: false } : tryPassword(link, given);
    },

    cookie: (link, path) =>
      `${cookieName(link)}=${tokenOf(link)}; Path=${path}; Max-Age=${7 * 24 * 3600}; HttpOnly; Secure; SameSite=Lax`,
  };
}
