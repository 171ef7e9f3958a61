import { isObject } from '../model/fields.js';
import { textChars } from '../model/text-chars.js';
import { PartialRecord, UnreadRecord } from './pages.js';
import { createRefusals, isGone, isRefusal } from './refusals.js';

/** How to read what the list of links lacks, with a request for each link. */
export interface LinkCompletion {
  /** The field that is read. */
  readonly field: string;
  /** Reads a link; undefined for a link that needs no request. @throws ImportError when the source refuses */
  readonly read: (link: unknown) => Promise<unknown> | undefined;
}

/**
 * Maximum number of links that are kept back, and of their characters. The limits are needed because links that need no request are kept
 * back as well.
 */
const KEPT_MAX = 500;
const KEPT_CHARS_MAX = 8_000_000;

/**
 * Passes on links one by one, each with what a request adds to it: the answers for a whole page of links may not fit in memory. A link
 * that has been deleted meanwhile is passed on as one that could not be read, and a link whose request is refused for another reason is
 * passed on without the addition. From a refusal on, up to 500 links and 8 million characters are kept back until a request succeeds, so that
 * the import from a source that refuses all requests ends before any of the refused links is created.
 *
 * @param doneRows number of links that an earlier run has processed; nothing is requested for them
 * @throws ImportError when the source refuses many links in a row
 */
export async function* oneByOne(
  pages: AsyncIterable<readonly unknown[]>,
  doneRows: number,
  { field, read }: LinkCompletion,
): AsyncGenerator<readonly unknown[]> {
  const refusals = createRefusals(isRefusal);
  let isRefusing = false;
  let kept: unknown[] = [];
  let keptChars = 0;
  let row = 0;

  async function extended(link: unknown, reading: Promise<unknown>): Promise<unknown> {
    try {
      const found = await reading;
      refusals.answered();
      isRefusing = false;
      return found;
    } catch (err) {
      const { message } = refusals.refused(err);
      isRefusing = true;
      if (isGone(err) || !isObject(link)) return new UnreadRecord(link, message);
      return new PartialRecord(link, [{ field, value: '', reason: `is not returned by the source: ${message}` }]);
    }
  }

  for await (const page of pages) {
    for (const link of page) {
      const reading = ++row > doneRows ? read(link) : undefined;
      const passed = reading === undefined ? link : await extended(link, reading);
      kept.push(passed);
      if (isRefusing) keptChars += textChars(passed);
      if (isRefusing && kept.length < KEPT_MAX && keptChars < KEPT_CHARS_MAX) continue;
      yield kept;
      kept = [];
      keptChars = 0;
    }
  }
  yield kept;
}
