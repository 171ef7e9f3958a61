import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Which instance key has sealed a text: the current one, another accepted one, or neither. */
export type Sealer = 'current' | 'other' | 'unknown';

/** Seals short texts, that is encrypts them with the instance key. */
export interface SecretBox {
  /** Encrypts a text. @param context id of the record to which the text belongs; `open` requires the same, so a text cannot be moved */
  seal(text: string, context: string): string;
  /** Decrypts a text. @throws Error when none of the keys has sealed it for that context */
  open(sealed: string, context: string): string;
  sealerOf(sealed: string, context: string): Sealer;
}

/** Decrypts a text with one key. @returns undefined when it was sealed with another key, for another context, or not at all */
function openWith(key: Buffer, sealed: string, context: string): string | undefined {
  const [version, encoded] = sealed.split('.');
  if (version !== VERSION || encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64url');
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const body = bytes.subarray(IV_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Creates a {@link SecretBox} with AES-256-GCM and a random nonce for each text. The sealed form is `v1.`, and nonce, tag and ciphertext in
 * base64url.
 *
 * @param key the current instance key, 32 bytes
 * @param otherKeys further accepted keys, which only decrypt
 * @throws RangeError for a key of another length
 */
export function createSecretBox(key: Buffer, otherKeys: readonly Buffer[]): SecretBox {
  if ([key, ...otherKeys].some(({ length }) => length !== 32)) {
    throw new RangeError('an instance key must have 32 bytes');
  }

  function findOpened(keys: readonly Buffer[], sealed: string, context: string): string | undefined {
    for (const one of keys) {
      const text = openWith(one, sealed, context);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  return {
    seal(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed, context) {
      const text = findOpened([key, ...otherKeys], sealed, context);
      if (text !== undefined) return text;
      throw new Error(
        `the secret of ${context} was encrypted with another key than INSTANCE_KEY or INSTANCE_KEY_PREVIOUS (see: waymark instance-key reseal --check)`,
      );
    },
    sealerOf(sealed, context) {
      if (findOpened([key], sealed, context) !== undefined) return 'current';
      return findOpened(otherKeys, sealed, context) === undefined ? 'unknown' : 'other';
    },
  };
}
