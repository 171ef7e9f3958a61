/**
 * A Bloom filter of 64-bit digests: it finds every digest that was added, and also about one in a hundred of the others, as long as no
 * more digests were added than its capacity.
 */
export interface BloomFilter {
  /** Memory of its bits. */
  readonly bytes: number;
  /** @param bytes the digest: eight bytes, from `at` on */
  add(bytes: Buffer, at?: number): void;
  /** @returns false: the digest was not added; true: it probably was. */
  mayHave(bytes: Buffer): boolean;
}

/** Ten bits and seven bit positions for each digest give 0.8 % false positives. */
const BITS_PER_DIGEST = 10;
const POSITIONS = 7;
const BITS_PER_WORD = 32;

/** @param capacity number of digests up to which the rate of false positives holds */
export function createBloomFilter(capacity: number): BloomFilter {
  const words = new Uint32Array(Math.ceil((Math.max(1, capacity) * BITS_PER_DIGEST) / BITS_PER_WORD));
  const bits = words.length * BITS_PER_WORD;

  /** Calls `visit` with each position of a digest until `visit` returns false. @returns whether it returned true for all of them */
  function everyPosition(bytes: Buffer, at: number, visit: (word: number, mask: number) => boolean): boolean {
    // Double hashing: each position is the first half plus a multiple of the second, which is made odd because 0 would repeat one position.
    const first = bytes.readUInt32LE(at);
    const second = bytes.readUInt32LE(at + 4) | 1;
    for (let index = 0; index < POSITIONS; index++) {
      const position = (first + index * (second >>> 0)) % bits;
      if (!visit(Math.floor(position / BITS_PER_WORD), 1 << (position % BITS_PER_WORD))) return false;
    }
    return true;
  }

  return {
    bytes: words.byteLength,

    add(bytes, at = 0) {
      everyPosition(bytes, at, (word, mask) => {
        words[word] = (words[word] ?? 0) | mask;
        return true;
      });
    },

    mayHave: (bytes) => everyPosition(bytes, 0, (word, mask) => ((words[word] ?? 0) & mask) !== 0),
  };
}
