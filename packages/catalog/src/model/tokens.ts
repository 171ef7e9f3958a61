import { createHash } from 'node:crypto';
import { BASE62_ALPHABET } from '@waymark/contract';
import { customAlphabet } from 'nanoid';

/** Returns a text of that many random base62 characters from the system's secure source. */
export const randomText: (length: number) => string = customAlphabet(BASE62_ALPHABET);

const TOKEN_PREFIX = { secret: 'dub_', publishable: 'dub_pk_' } as const;
const TOKEN_CHARS = 24;
/** The kinds of API keys. */
export type TokenKind = keyof typeof TOKEN_PREFIX;

/** Creates the token of an API key: a prefix and 24 random characters. */
export function createToken(kind: TokenKind): string {
  return TOKEN_PREFIX[kind] + randomText(TOKEN_CHARS);
}

/** The stored form of a token: SHA-256, hex. The token itself is not stored. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The part of a token that may be shown: its last four characters. */
export function partialToken(token: string): string {
  return `dub...${token.slice(-4)}`;
}
