import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import type { LockState } from '../pages/password-page.js';
import { readCookie } from './cookies.js';
import type { PasswordTries } from './password-tries.js';

/** What of a visit may open a link. */
export interface Keys {
  /** `Cookie` header. */
  readonly cookies: string | undefined;
  /** A password, as `pw` in the query or from the form; `''` counts as none. */
  readonly given: string | null;
  /** The visitor's address, whose tries are counted. */
  readonly address: string;
}

export interface Unlocking {
  readonly lock: LockState;
  /** The password given is the link's. */
  readonly isPasswordRight: boolean;
  /** When a blocked visitor may try again. */
  readonly retryAfterSeconds?: number;
}

/** Guards links that have a password. */
export interface PasswordGate {
  /** A wrong password counts as a try. */
  unlock(link: LinkRecord, keys: Keys): Promise<Unlocking>;
  /**
   * `Set-Cookie` that opens the link from now on, as long as it keeps its password.
   *
   * @param path where the browser shall send it
   * @param secure as `secureAttribute` gives it
   */
  cookie(link: LinkRecord, path: string, secure: string): string;
}

export interface PasswordGateOptions {
  /** Secret of the installation: what cookies hold says nothing about passwords without it. */
  readonly secret: Buffer;
  readonly passwordOf: (link: LinkRecord) => string | null;
  readonly tries: PasswordTries;
}

const COOKIE_SECONDS = 7 * 24 * 3600;

const cookieName = (link: LinkRecord) => `dub_password_${link.id}`;

export function createPasswordGate({ secret, passwordOf, tries }: PasswordGateOptions): PasswordGate {
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

  /** Compares in constant time. */
  function isToken(link: LinkRecord, text: string): boolean {
    const token = Buffer.from(tokenOf(link));
    const given = Buffer.from(text);
    return given.length === token.length && timingSafeEqual(given, token);
  }

  /**
   * Only wrong passwords are counted; right ones use up no tries. Of guesses at the same moment the
   * right one opens nothing either once too many wrong ones of its network came before it.
   */
  async function tryPassword(link: LinkRecord, given: string, address: string): Promise<Unlocking> {
    const isRight = isToken(link, tokenFor(link, given));
    const retryAfterSeconds = await tries.take(link.id, address, isRight);
    if (retryAfterSeconds !== undefined) return { lock: 'blocked', isPasswordRight: false, retryAfterSeconds };
    return { lock: isRight ? 'open' : 'wrong', isPasswordRight: isRight };
  }

  return {
    async unlock(link, { cookies, given, address }) {
      const cookie = readCookie(cookies, cookieName(link));
      if (cookie !== undefined && isToken(link, cookie)) {
        const isPasswordRight = given !== null && given !== '' && isToken(link, tokenFor(link, given));
        return { lock: 'open', isPasswordRight };
      }
      if (given === null || given === '') return { lock: 'closed', isPasswordRight: false };
      return tryPassword(link, given, address);
    },

    cookie: (link, path, secure) =>
      `${cookieName(link)}=${tokenOf(link)}; Path=${path}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure}`,
  };
}
