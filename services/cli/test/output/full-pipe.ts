import { standardOutput } from '../../src/standard-output.js';

// Fills the pipe of its standard output with writes that each return true, and reports when the rest has been flushed. The parent reads
// once the pipe is full.

const CHUNK = Buffer.alloc(1000, 'a');
const output = standardOutput(new AbortController().signal);
let bytes = 0;
while (process.stdout.writableLength === 0) {
  await output.write(CHUNK);
  bytes += CHUNK.length;
}
process.send?.('full');
await output.flush();
process.send?.({ bytes, left: process.stdout.writableLength });
process.disconnect?.();
