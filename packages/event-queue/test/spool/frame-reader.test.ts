import type { FileHandle } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createJobId } from '../../src/queue/job-id.js';
import { encodeFrame, type SpoolEntry } from '../../src/spool/frame.js';
import { type FrameChunk, readFrames } from '../../src/spool/frame-reader.js';

const MEBIBYTE = 1024 * 1024;

function anEntry(rows: string): SpoolEntry {
  return {
    ...{ jobId: createJobId(), kind: 'click', version: 1, rowCount: 1, rows },
    ...{ marker: { group: 'abc', bit: 3 }, claims: [], claimsUntil: 1234 },
  };
}

/** A file in memory, whose reads are counted. */
function aFile(bytes: Buffer) {
  const reads: number[] = [];
  const handle = {
    stat: async () => ({ size: bytes.length }),
    async read(buffer: Buffer, offset: number, length: number, position: number) {
      reads.push(length);
      return { bytesRead: bytes.copy(buffer, offset, position, position + length) };
    },
  } as unknown as FileHandle;
  return { handle, reads };
}

async function chunksOf(bytes: Buffer): Promise<FrameChunk[]> {
  const chunks: FrameChunk[] = [];
  for await (const chunk of readFrames(aFile(bytes).handle, 0)) chunks.push(chunk);
  return chunks;
}

async function contentOf(bytes: Buffer) {
  const chunks = await chunksOf(bytes);
  return {
    entries: chunks.flatMap(({ entries }) => entries),
    damagedBytes: chunks.reduce((sum, chunk) => sum + chunk.damagedBytes, 0),
    tornBytes: chunks.at(-1)?.tornBytes,
  };
}

const fileOf = (entries: readonly SpoolEntry[]) => Buffer.concat(entries.map(encodeFrame));

describe('a spool file is read', () => {
  it('with entries of all sizes, which cross the bounds of what is read at a time', async () => {
    const entries = Array.from({ length: 60 }, (_, index) => anEntry('ü'.repeat(((index * 7919) % 97) * 1_000)));
    entries.splice(30, 0, anEntry('x'.repeat(3.5 * MEBIBYTE)));
    expect(await contentOf(fileOf(entries))).toEqual({ entries, damagedBytes: 0, tornBytes: 0 });
  });

  it('a mebibyte at a time, and other work has turns meanwhile', async () => {
    const entries = Array.from({ length: 600 }, () => anEntry('x'.repeat(20_000)));
    const { handle, reads } = aFile(fileOf(entries));
    let turns = 0;
    let isReading = true;
    const countTurn = () => {
      turns += 1;
      if (isReading) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const readsBefore: number[] = [];
    for await (const { entries } of readFrames(handle, 0)) if (entries.length > 0) readsBefore.push(reads.length);
    isReading = false;
    expect(Math.max(...reads)).toBe(MEBIBYTE);
    expect(readsBefore[0]).toBe(1);
    expect(turns).toBeGreaterThan(40);
  });

  it('from the end of any chunk on', async () => {
    const bytes = fileOf(Array.from({ length: 90 }, () => anEntry('x'.repeat(40_000))));
    const all = await chunksOf(bytes);
    for (const [index, { end }] of all.entries()) {
      const rest: SpoolEntry[] = [];
      for await (const { entries } of readFrames(aFile(bytes).handle, end)) rest.push(...entries);
      expect(rest).toEqual(all.slice(index + 1).flatMap(({ entries }) => entries));
    }
  });

  it.each(Array.from({ length: 14 }, (_, index) => index - 2))(
    'to the next entry after corrupt bytes that end %i bytes before what is read first',
    async (before) => {
      const entry = anEntry('x'.repeat(100));
      const damaged = Buffer.alloc(MEBIBYTE - before, 'x\n');
      const bytes = Buffer.concat([damaged, Buffer.from('\n'), encodeFrame(entry)]);
      const expected = { entries: [entry], damagedBytes: damaged.length + 1, tornBytes: 0 };
      expect(await contentOf(bytes)).toEqual(expected);
    },
  );

  it('with a header that was damaged, so that it gives a wrong length', async () => {
    const entries = [anEntry('first'), anEntry('second'), anEntry('third')];
    const text = fileOf(entries).toString();
    for (const length of ['9', '600', '9007199254740991']) {
      const bytes = Buffer.from(text.replace('"bytes":6', `"bytes":${length}`));
      const content = await contentOf(bytes);
      expect(content.entries).toEqual([entries[0], entries[2]]);
      expect(content.damagedBytes).toBeGreaterThan(0);
    }
  });

  it('with fields of a later release in headers', async () => {
    const entries = [anEntry('first'), anEntry('last')];
    const text = fileOf(entries).toString();
    const bytes = Buffer.from(
      text.replaceAll('{"jobId"', '{"later":{"a":1},"jobId"').replaceAll('"bit":3', '"bit":3,"later":2'),
    );
    expect(await contentOf(bytes)).toEqual({ entries, damagedBytes: 0, tornBytes: 0 });
  });

  it('and a whole last entry that cannot be read is damage, not an interrupted write', async () => {
    const [first, last] = [anEntry('first'), encodeFrame(anEntry('last'))];
    const text = last.toString();
    for (const unreadable of [text.replace('"click"', '"later"'), text.replace('last', 'lost'), 'no JSON\nlast\n']) {
      const bytes = Buffer.concat([encodeFrame(first), Buffer.from(unreadable)]);
      expect(await contentOf(bytes)).toEqual({ entries: [first], damagedBytes: unreadable.length, tornBytes: 0 });
      expect(await contentOf(Buffer.from(unreadable))).toMatchObject({ damagedBytes: unreadable.length, tornBytes: 0 });
    }
    const torn = Buffer.from(text.replace('"click"', '"later"')).subarray(0, -1);
    expect(await contentOf(torn)).toEqual({ entries: [], damagedBytes: 0, tornBytes: torn.length });
  });

  it('without the entry that was being written', async () => {
    const [first, torn] = [anEntry('first'), encodeFrame(anEntry('x'.repeat(2 * MEBIBYTE)))];
    const bytes = Buffer.concat([encodeFrame(first), torn.subarray(0, -1)]);
    expect(await contentOf(bytes)).toEqual({ entries: [first], damagedBytes: 0, tornBytes: torn.length - 1 });
  });
});
