import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts short texts with the instance key. */
export interface SecretBox {
  /** @param context what the text belongs to, such as the id of a link: opening requires the same context */
  seal(text: string, context: string): string;
  open(sealed: string, context: string): string;
}

/**
 * Uses AES-256-GCM with a random nonce for each text. Sealed form: `v1.` and nonce, tag and ciphertext in base64url.
 *
 * @param key 32 bytes
 */
export function createSecretBox(key: Buffer): SecretBox {
  if (key.length !== 32) throw new RangeError('the instance key must have 32 bytes');
  return {
    seal(text, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `${VERSION}.${Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url')}`;
    },
    open(sealed, context) {
      const [version, encoded] = sealed.split('.');
      if (version !== VERSION || encoded === undefined) throw new Error('unknown form of sealed text');
      const bytes = Buffer.from(encoded, 'base64url');
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const body = bytes.subarray(IV_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}
