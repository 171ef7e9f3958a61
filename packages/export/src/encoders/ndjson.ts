import type { Encoder } from './encoder.js';

/** Creates an encoder of NDJSON: each item unchanged, on a line of its own. */
export function createNdjsonEncoder(): Encoder {
  return {
    encode(items) {
      const bytes = Buffer.allocUnsafe(items.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0));
      let end = 0;
      for (const item of items) {
        end += bytes.write(item, end);
        end += bytes.write('\n', end);
      }
      return bytes;
    },
    end: () => [],
  };
}
