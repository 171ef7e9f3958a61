import { randomFillSync } from 'node:crypto';

const POOL = new Uint32Array(2048);
let next = POOL.length;

/** Returns 32 cryptographically random bits. They come from a pool, because one system call for each id is too slow for redirects. */
export function randomUInt32(): number {
  if (next >= POOL.length) {
    randomFillSync(POOL);
    next = 0;
  }
  const value = POOL[next] ?? 0;
  POOL[next] = 0;
  next += 1;
  return value;
}
