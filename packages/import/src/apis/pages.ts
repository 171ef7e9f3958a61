import { createHash } from 'node:crypto';
import { asJson } from '../model/as-json.js';
import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import type { Lost, SourceRow } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';

/** The list `name` of an answer, or the answer itself when the name is empty. @throws ImportError when it is no list */
export function listIn(answer: unknown, name = ''): readonly unknown[] {
  const list = name === '' ? answer : isObject(answer) ? answer[name] : undefined;
  if (Array.isArray(list)) return list;
  throw new ImportError(`the answer of the source has no list${name && ` "${name}"`}`);
}

/** The text or number `name` of an object, as text; undefined when it is missing or empty, and for other types. */
export function textIn(value: unknown, name: string): string | undefined {
  const found = isObject(value) ? value[name] : undefined;
  return (typeof found === 'string' && found !== '') || typeof found === 'number' ? String(found) : undefined;
}

/** Longer than the ids of any source. */
const ID_CHARS_MAX = 100;

/** An id to compare with others later: a longer one as its hash, so that many ids fit into memory whatever a source answers. */
export function shortId(id: string): string {
  return id.length <= ID_CHARS_MAX ? id : createHash('sha256').update(id).digest('base64url');
}

/** Most characters of a record that is compared: comparing writes it as one text. */
const COMPARED_CHARS_MAX = 1_000_000;

/** Identifies a page by its first and its last record. Undefined for a page that is empty, and for records that are too long or nested too deeply. */
function hashOf(page: readonly unknown[]): string | undefined {
  if (page.length === 0) return undefined;
  const hash = createHash('sha256').update(String(page.length));
  for (const record of new Set([page[0], page.at(-1)])) {
    const text = textChars(record) > COMPARED_CHARS_MAX ? undefined : asJson(record);
    if (text === undefined) return undefined;
    hash.update(text);
  }
  return hash.digest('base64');
}

/**
 * Passes on pages until one is repeated, as by a source that ignores which page was requested. Keeps one page's hash: that of the first,
 * second, fourth, eighth page and so on, so it finds a repetition of any length in time.
 *
 * @throws ImportError at a repeated page
 */
export async function* unrepeated(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<readonly unknown[]> {
  let kept: string | undefined;
  let read = 0;
  let nextKept = 1;
  for await (const page of pages) {
    const hash = hashOf(page);
    if (hash !== undefined && hash === kept) throw new ImportError('the source answers the same page again and again');
    if (hash !== undefined && ++read === nextKept) {
      kept = hash;
      nextKept *= 2;
    }
    yield page;
  }
}

/** What stands in a page for records that could not be read. */
export class UnreadRecord {
  constructor(
    /** What the source has returned instead. */
    readonly record: unknown,
    readonly error: string,
  ) {}
}

/** A record of which the source did not return all. */
export class PartialRecord {
  constructor(
    readonly record: unknown,
    readonly lost: readonly Lost[],
  ) {}
}

/** The records of all pages, numbered from 1. */
export async function* numbered(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<SourceRow> {
  let row = 0;
  for await (const page of pages) {
    for (const found of page) {
      row++;
      if (found instanceof UnreadRecord) yield { row, record: found.record, error: found.error };
      else if (found instanceof PartialRecord) yield { row, record: found.record, lost: found.lost };
      else yield { row, record: found };
    }
  }
}
