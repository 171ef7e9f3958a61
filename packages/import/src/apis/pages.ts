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

/** The records of all pages, numbered from 1. */
export async function* numbered(pages: AsyncIterable<readonly unknown[]>): AsyncGenerator<SourceRow> {
  let row = 0;
  for await (const page of pages) for (const record of page) yield { row: ++row, record };
}
