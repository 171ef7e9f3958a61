import { createHash } from 'node:crypto';
import { asJson } from '../model/as-json.js';
import { isObject } from '../model/fields.js';
import { ImportError } from '../model/import-error.js';
import type { SourceRow } from '../model/source-link.js';

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

/** Identifies a page by its first and its last record. Undefined for a page that is empty or nested too deeply to be compared. */
function hashOf(page: readonly unknown[]): string | undefined {
  const text = page.length === 0 ? undefined : asJson([page.length, page[0], page.at(-1)]);
  return text && createHash('sha256').update(text).digest('base64');
}

/**
 * Passes on pages until one is repeated, as by a source that ignores which page was requested. Keeps one page's hash: that of the first,
 * second, fourth, eighth page and so on, so it finds a repetition of any length in time.
 *
 * @throws ImportError at a repeated page
 */
async function* unrepeated(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<readonly unknown[]> {
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

/** The records of all pages, numbered from 1. @throws ImportError when the pages repeat themselves */
export async function* numbered(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<SourceRow> {
  let row = 0;
  for await (const page of unrepeated(pages)) for (const record of page) yield { row: ++row, record };
}
