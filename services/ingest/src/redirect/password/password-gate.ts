import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LinkRecord } from '@waymark/catalog';
import { readCookie } from '../cookies.js';
import type { LockState } from '../pages/password-page.js';
import type { PasswordAttempts } from './password-attempts.js';

/** The parts of a visit that can unlock a link with a password. */
export interface PasswordCredentials {
  /** `Cookie` header. */
  readonly cookies: string | undefined;
  /** The password, from `pw` in the query or from the form; `''` counts as none. */
  readonly password: string | null;
  /** The visitor's address, for counting wrong passwords. */
  readonly address: string;
}

export interface UnlockResult {
  readonly lock: LockState;
  /** The visitor sent the correct password. */
  readonly isPasswordCorrect: boolean;
  /** When a blocked visitor may try again. */
  readonly retryAfterSeconds?: number;
}

/** Checks the passwords of links. */
export interface PasswordGate {
  /** Checks cookie and password. A wrong password counts as an attempt. */
  unlock(link: LinkRecord, keys: PasswordCredentials): Promise<UnlockResult>;
  /**
   * The `Set-Cookie` value that unlocks the link until its password changes.
   *
   * @param path the cookie's path
   * @param secure the result of `secureAttribute`
   */
  cookie(link: LinkRecord, path: string, secure: string): string;
}

export interface PasswordGateOptions {
  /** Secret of the installation. Nobody without it can find a password by comparing guesses with a cookie. */
  readonly secret: Buffer;
  /** Secrets whose cookies are accepted as well, during a rotation of the key. */
  readonly otherSecrets: readonly Buffer[];
  readonly passwordOf: (link: LinkRecord) => string | null;
  readonly attempts: PasswordAttempts;
}

const COOKIE_SECONDS = 7 * 24 * 3600;

const cookieName = (link: LinkRecord) => `dub_password_${link.id}`;

/** The tokens that unlock a link. */
interface LinkTokens {
  /** That of new cookies. */
  readonly token: string;
  /** Those of cookies that were set with another secret. */
  readonly others: readonly string[];
}

/** Compares in constant time. */
function isSame(text: string, token: string): boolean {
  const [actual, expected] = [Buffer.from(text), Buffer.from(token)];
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Creates the checks of a process. Their cookies are valid in every process with the same secret. */
export function createPasswordGate({ secret, otherSecrets, passwordOf, attempts }: PasswordGateOptions): PasswordGate {
  // Caches tokens rather than passwords, because a record stays in memory much longer than a request.
  const tokens = new WeakMap<LinkRecord, LinkTokens>();

  const tokenFor = (link: LinkRecord, password: string, key = secret): string =>
    createHmac('sha256', key).update(`${link.id}\0${password}`).digest('base64url');

  function tokensOf(link: LinkRecord): LinkTokens {
    let known = tokens.get(link);
    if (known === undefined) {
      const password = passwordOf(link) ?? '';
      known = {
        token: tokenFor(link, password),
        others: otherSecrets.map((other) => tokenFor(link, password, other)),
      };
      tokens.set(link, known);
    }
    return known;
  }

  const isToken = (link: LinkRecord, text: string): boolean => isSame(text, tokensOf(link).token);
  const isCookie = (link: LinkRecord, text: string): boolean =>
    isToken(link, text) || tokensOf(link).others.some((other) => isSame(text, other));

  /**
   * Checks a password against the limits and the link. Only wrong passwords are counted; but a correct one is refused too once its network
   * has sent too many wrong ones.
   */
  async function tryPassword(link: LinkRecord, password: string, address: string): Promise<UnlockResult> {
    const isCorrect = isToken(link, tokenFor(link, password));
    const retryAfterSeconds = await attempts.take(link.id, address, isCorrect);
    if (retryAfterSeconds !== undefined) return { lock: 'tooManyTries', isPasswordCorrect: false, retryAfterSeconds };
    return { lock: isCorrect ? 'open' : 'wrongPassword', isPasswordCorrect: isCorrect };
  }

  return {
    async unlock(link, { cookies, password, address }) {
      const cookie = readCookie(cookies, cookieName(link));
      if (cookie !== undefined && isCookie(link, cookie)) {
        const isPasswordCorrect = password !== null && password !== '' && isToken(link, tokenFor(link, password));
        return { lock: 'open', isPasswordCorrect };
      }
      if (password === null || password === '') return { lock: 'passwordRequired', isPasswordCorrect: false };
      return tryPassword(link, password, address);
    },

    cookie: (link, path, secure) =>
      `${cookieName(link)}=${tokensOf(link).token}; Path=${path}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure}`,
  };
}
