import { once } from 'node:events';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundPieces } from '../src/index.js';

/** The body of a message, as the parser of HTTP makes one. */
function aBody() {
  let refusals = 0;
  const body = new Readable({ read: () => undefined });
  boundPieces(body, () => {
    refusals += 1;
  });
  return { body, refusals: () => refusals };
}

const bytesOf = (bytes: number) => Buffer.alloc(bytes, 'x');

describe('the pieces of a body', () => {
  it('have the bytes that arrived, in their order, however they are divided and whenever they are read', async () => {
    const packets = fc.array(fc.array(fc.string({ minLength: 1, maxLength: 2000 }), { maxLength: 40 }), {
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(packets, fc.boolean(), async (sent, isReadAtOnce) => {
        const { body, refusals } = aBody();
        const found: Buffer[] = [];
        const read = () => body.on('data', (piece) => found.push(piece));
        if (isReadAtOnce) read();
        for (const packet of sent) {
          for (const piece of packet) body.push(Buffer.from(piece));
          await new Promise(setImmediate);
        }
        body.push(null);
        if (!isReadAtOnce) read();
        await once(body, 'end');
        expect(Buffer.concat(found).toString()).toBe(sent.flat().join(''));
        expect(refusals()).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('are joined when they arrive together, after the first few', async () => {
    const { body } = aBody();
    const sizes: number[] = [];
    body.on('data', ({ length }) => sizes.push(length));
    for (let piece = 0; piece < 516; piece++) body.push(bytesOf(2));
    await new Promise(setImmediate);
    expect(sizes).toEqual([...Array(16).fill(2), 1000]);
  });

  it('tell the parser to wait while they are not read', async () => {
    const { body } = aBody();
    for (let packet = 0; packet < 20; packet++) {
      for (let piece = 0; piece < 40; piece++) body.push(bytesOf(200));
      await new Promise(setImmediate);
    }
    expect(body.push(bytesOf(1))).toBe(false);
    body.resume();
    await new Promise(setImmediate);
    body.push(bytesOf(1));
    await new Promise(setImmediate);
    expect(body.push(bytesOf(1))).toBe(true);
  });

  it('are joined with later ones when they arrive alone, after the first 1,000', async () => {
    const { body, refusals } = aBody();
    const sizes: number[] = [];
    body.on('data', ({ length }) => sizes.push(length));
    for (let packet = 0; packet < 20_000; packet++) {
      body.push(bytesOf(16));
      await new Promise((resolve) => process.nextTick(resolve));
    }
    body.push(null);
    await once(body, 'end');
    expect(refusals()).toBe(0);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(320_000);
    expect(sizes.length).toBeGreaterThan(5000);
    expect(sizes.length).toBeLessThanOrEqual(6001);
  });

  it('that arrive alone are all read, although the parser waits when the stream has no room', async () => {
    const { body } = aBody();
    // As the parser does it: it adds nothing after `false` until the stream requests more.
    let isAsked = true;
    body._read = () => {
      isAsked = true;
    };
    const read = (async () => {
      let bytes = 0;
      for await (const piece of body) {
        bytes += piece.length;
        await new Promise(setImmediate);
      }
      return bytes;
    })();
    for (let packet = 0; packet < 40_000; packet++) {
      while (!isAsked) await new Promise(setImmediate);
      isAsked = body.push(bytesOf(20));
      if (packet % 7 === 0) await new Promise(setImmediate);
    }
    body.push(null);
    expect(await read).toBe(800_000);
  });

  it.each([
    [1, 1142],
    [7, 8000],
  ])('of %i bytes are refused once there are more than 1,000, and one for each 8 bytes', (bytes, allowed) => {
    const { body, refusals } = aBody();
    body.resume();
    for (let piece = 0; piece < allowed; piece++) body.push(bytesOf(bytes));
    expect(refusals()).toBe(0);
    for (let piece = 0; piece < 10; piece++) body.push(bytesOf(bytes));
    expect(refusals()).toBe(1);
  });

  it('of at least 8 bytes are not refused, however many there are', () => {
    const { body, refusals } = aBody();
    body.resume();
    for (let piece = 0; piece < 100_000; piece++) body.push(bytesOf(8));
    expect(refusals()).toBe(0);
  });

  it('that are refused are no whole body, but what came before is read', async () => {
    const { body } = aBody();
    let hasEnded = false;
    let bytes = 0;
    body.on('data', ({ length }) => {
      bytes += length;
    });
    body.on('end', () => {
      hasEnded = true;
    });
    for (let piece = 0; piece < 2000; piece++) body.push(bytesOf(1));
    body.push(null);
    await new Promise(setImmediate);
    expect([hasEnded, bytes]).toEqual([false, 1142]);
  });
});
