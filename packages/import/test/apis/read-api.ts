import type { ImportSource } from '@waymark/contract';
import { createOutbound } from '@waymark/outbound';
import { onTestFinished } from 'vitest';
import { openApi } from '../../src/index.js';
import { type StubAnswer, type StubRequest, startStub } from './stub-server.js';

export const KEY = 'secret-key-of-the-source';
export const NOW = Date.parse('2026-01-01T00:00:00Z');

/** Stays open, because the test files of a process share it. */
export const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });

/** Options of a reading. */
export interface Reading {
  readonly readsCounts?: boolean;
  readonly account?: string;
  readonly doneRows?: number;
}

/** All links of a stub's API, mapped; and how long the import waited. */
export async function read(
  source: ImportSource,
  answer: (request: StubRequest, number: number) => StubAnswer,
  options: Reading = {},
) {
  const stub = await startStub(answer);
  onTestFinished(() => stub.close());
  const waits: number[] = [];
  const links = [];
  const opened = await openApi({
    ...{
      source,
      address: `${stub.address}/`,
      credential: KEY,
      outbound,
      readsCounts: false,
      now: () => NOW,
      ...options,
    },
    wait: async (ms) => void waits.push(ms),
  });
  const mapping = { timezone: 'UTC', ...(opened.folderNames && { folderNames: opened.folderNames }) };
  const errors: string[] = [];
  const lost: unknown[] = [];
  for await (const { row, record, error, lost: ofRow = [] } of opened.rows) {
    lost.push(...ofRow.map(({ field, reason }) => ({ row, field, reason })));
    if (error !== undefined) {
      errors.push(error);
      continue;
    }
    for (const link of opened.mapRecord(record, mapping)) links.push({ row, ...link });
  }
  return { links, errors, lost, waits, requests: stub.requests, keys: links.map(({ key }) => key) };
}
