import { isObject } from '../model/fields.js';
import { PartialRecord, UnreadRecord } from './pages.js';
import { createRefusals, isGone, isRefusal } from './refusals.js';

/** How to read what the list of links lacks, with a request for each link. */
export interface Extension {
  /** The field that is read. */
  readonly field: string;
  /** Reads a link; undefined for a link that needs no request. @throws ImportError when the source refuses */
  readonly read: (link: unknown) => Promise<unknown> | undefined;
}

/**
 * Pages of one link each, to which a request adds something: the answers for a whole page of links could be too much for the memory. A link
 * that has been deleted meanwhile is passed on as one that could not be read, and one that is refused otherwise without the addition. They
 * are kept back until a request is answered, so that nothing is imported from a source that refuses from the start.
 *
 * @param doneRows number of links that an earlier run has processed; nothing is requested for them
 * @throws ImportError when the source refuses many links in a row
 */
export async function* oneByOne(
  pages: AsyncIterable<readonly unknown[]>,
  doneRows: number,
  { field, read }: Extension,
): AsyncGenerator<readonly unknown[]> {
  const refusals = createRefusals(isRefusal);
  let refused: unknown[] = [];
  let row = 0;

  /** Reads a link. @returns undefined for one that is refused, which is kept back */
  async function extended(link: unknown, reading: Promise<unknown>): Promise<unknown> {
    try {
      const found = await reading;
      refusals.answered();
      return found;
    } catch (err) {
      const { message } = refusals.refused(err);
      const reason = `the source does not return it: ${message}`;
      refused.push(
        isGone(err) || !isObject(link)
          ? new UnreadRecord(link, message)
          : new PartialRecord(link, [{ field, value: '', reason }]),
      );
      return undefined;
    }
  }

  for await (const page of pages) {
    for (const link of page) {
      const reading = ++row > doneRows ? read(link) : undefined;
      const found = reading === undefined ? link : await extended(link, reading);
      if (found === undefined) continue;
      yield [...refused, found];
      refused = [];
    }
  }
  yield refused;
}
