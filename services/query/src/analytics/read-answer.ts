import type { BoundAnalytics, CountedGroup } from '@waymark/event-query';
import { jsonItems, mapYielding, memoryOf, type UnsentAnswer, type UnsentAnswers } from '@waymark/http-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RunReads } from '../workspace-concurrency.js';
import { readGroups } from './read-groups.js';
import type { RowParts } from './response-body.js';

/** The groups of a request, and the memory that its answer takes. */
export interface UnsentGroups {
  readonly groups: readonly CountedGroup[];
  /** Bytes of the keys of the groups in memory. */
  readonly keyBytes: number;
  readonly unsent: UnsentAnswer;
}

const keyBytesOf = (groups: readonly CountedGroup[]): number =>
  groups.reduce((sum, { key }) => key.reduce((bytes, text) => bytes + memoryOf(text), sum), 0);

/** Reads the groups of an answer, and counts them as unsent. @throws ApiError like {@link readGroups}, and 429 like {@link UnsentAnswers} */
export function readUnsentGroups(
  { runReads, unsentAnswers }: { readonly runReads: RunReads; readonly unsentAnswers: UnsentAnswers },
  request: FastifyRequest,
  reply: FastifyReply,
  bound: BoundAnalytics,
): Promise<UnsentGroups> {
  const { id } = request.workspace;
  return runReads(request, reply, async (reads) => {
    unsentAnswers.check(id);
    const groups = await readGroups(reads, bound);
    const keyBytes = keyBytesOf(groups);
    return { groups, keyBytes, unsent: unsentAnswers.reserve(id, reply, keyBytes) };
  });
}

/** The JSON of rows. For many rows, each part is made when the one before it was taken, so that only one part is in memory beside the groups. */
export async function textOfRows(rows: RowParts, { keyBytes, unsent }: UnsentGroups) {
  async function* items() {
    for await (const part of rows) {
      const texts = await mapYielding(part, (row) => JSON.stringify(row));
      unsent.resize(keyBytes + texts.reduce((bytes, text) => bytes + memoryOf(text), 0));
      yield texts;
    }
  }
  const text = await jsonItems(items());
  if (Buffer.isBuffer(text)) unsent.resize(text.length);
  return text;
}
