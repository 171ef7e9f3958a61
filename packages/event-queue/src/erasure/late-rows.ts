import { anonymisedRow, type EventRow, type EventTableKind, readCustomerRow, rowIds } from '@waymark/event-format';
import type { DeadLetter, DeadLetters } from '../queue/dead-letters.js';
import { isSilentRow, silentRow } from '../queue/job-rows.js';
import type { EventTable } from '../writer/event-table.js';
import { clickBehind } from './queued-references.js';

/** Which erasure it is. */
export interface ErasureReference {
  readonly id: string;
  readonly workspaceId: string;
}

/** The people who were erased lately, by the ids in rows of the queue. Numbers are the UInt64 of ids, as decimal text. */
export interface ErasedInRows {
  /** What the erasure does with the rows of the customer; undefined for a customer who was not erased. */
  modeOfCustomer(workspaceNumber: string, customerNumber: string): 'anonymise' | 'delete' | undefined;
  /** The same for a click that is attributed to an erased customer. */
  modeOfClick(workspaceNumber: string, clickId: string): 'anonymise' | 'delete' | undefined;
  /** The erasure of this external id, if it was accepted after the queued customer was created; else undefined. */
  erasureOf(workspaceNumber: string, customerNumber: string, externalId: string): ErasureReference | undefined;
  /** The erasures of the customer whose lists of clicks lack the click. */
  erasuresWithout(workspaceNumber: string, customerNumber: string, clickId: string): readonly ErasureReference[];
}

/** Ids of an erased person that were found in a late row: a customer's number, and clicks that its events are attributed to. */
export interface FoundInRows {
  readonly customerNumber?: string;
  readonly clickIds?: readonly string[];
}

/** Access of a writer to the erasures. A row is *late* if its person was erased after it was queued. */
export interface LateRows {
  /** The people who were erased lately; undefined when there are none, which costs no request. @throws when they cannot be read */
  current(): Promise<ErasedInRows | undefined>;
  /** Adds ids to an erasure that it did not have when it was accepted. */
  onFound(erasure: ErasureReference, found: FoundInRows): Promise<unknown>;
}

/** The people who were erased lately. @throws Error, which the writer does not take for a refusal by ClickHouse, so that it retries the insert */
export async function readErased(lateRows: LateRows): Promise<ErasedInRows | undefined> {
  try {
    return await lateRows.current();
  } catch (err) {
    throw new Error('the erasures could not be read', { cause: err });
  }
}

/** Adds ids to an erasure. @throws like {@link readErased} */
async function addFound(lateRows: LateRows, erasure: ErasureReference, found: FoundInRows): Promise<void> {
  try {
    await lateRows.onFound(erasure, found);
  } catch (err) {
    throw new Error('an erasure could not be extended', { cause: err });
  }
}

/**
 * Adds the clicks of late leads and sales to the erasures of their customers. An erasure looks for the person's clicks in the tables of leads
 * and sales, which do not have rows that are still queued, or are never stored.
 */
async function addClicksBehind(
  kind: EventTableKind,
  rows: readonly string[],
  people: ErasedInRows,
  lateRows: LateRows,
): Promise<void> {
  if (kind === 'click') return;
  const found = new Map<string, { readonly erasure: ErasureReference; readonly clickIds: Set<string> }>();
  for (const row of rows) {
    const { workspaceId = '', customerId } = rowIds(kind, row) ?? {};
    if (customerId === undefined || people.modeOfCustomer(workspaceId, customerId) === undefined) continue;
    const clickId = clickBehind(row);
    for (const erasure of people.erasuresWithout(workspaceId, customerId, clickId)) {
      const { clickIds } = found.get(erasure.id) ?? { clickIds: new Set() };
      found.set(erasure.id, { erasure, clickIds: clickIds.add(clickId) });
    }
  }
  for (const { erasure, clickIds } of found.values()) await addFound(lateRows, erasure, { clickIds: [...clickIds] });
}

/**
 * The row of an event as an erasure leaves it.
 *
 * @returns undefined for a row that must not be stored; the anonymised row; or the same text when no erased person is concerned
 */
export function withoutErased(kind: EventTableKind, row: string, people: ErasedInRows): string | undefined {
  const ids = rowIds(kind, row);
  if (ids === undefined) return row;
  const { workspaceId, eventId, customerId } = ids;
  const mode =
    customerId === undefined
      ? people.modeOfClick(workspaceId, eventId)
      : people.modeOfCustomer(workspaceId, customerId);
  if (mode === undefined) return row;
  if (mode === 'delete') return undefined;
  const text = JSON.stringify(anonymisedRow(kind, JSON.parse(row) as EventRow));
  return isSilentRow(row) ? silentRow(text) : text;
}

/** Wraps a table: its inserts anonymise late rows, or leave them out. */
export function withoutErasedRows(table: EventTable, kind: EventTableKind, lateRows: LateRows | undefined): EventTable {
  if (lateRows === undefined) return table;
  return {
    ...table,
    async insert(version, rows, token, absent) {
      // At each attempt, because an insert may be repeated for hours.
      const people = await readErased(lateRows);
      if (people === undefined) return table.insert(version, rows, token, absent);
      const isAbsent = (row: string) => absent?.has(row) ?? true;
      // Before the insert, so that a failure between the two repeats both.
      await addClicksBehind(kind, rows.filter(isAbsent), people, lateRows);
      const left: string[] = [];
      const leftAbsent = new Set<string>();
      for (const row of rows) {
        const stored = withoutErased(kind, row, people);
        if (stored === undefined) continue;
        left.push(stored);
        if (isAbsent(row)) leftAbsent.add(stored);
      }
      if (leftAbsent.size > 0) await table.insert(version, left, token, absent && leftAbsent);
    },
  };
}

/** The click that brought a customer. */
function clickOf(record: string): string | undefined {
  try {
    const { clickId } = JSON.parse(record) as { readonly clickId?: unknown };
    return typeof clickId === 'string' && clickId !== '' ? clickId : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a queued customer was erased. Adds to the erasure the click that brought the customer, and the number of a customer that was found
 * by its external id.
 */
export async function isErasedCustomer(row: string, people: ErasedInRows, lateRows: LateRows): Promise<boolean> {
  const customer = readCustomerRow(row);
  if (customer === undefined) return false;
  const { workspace, number, externalId, record } = customer;
  const clickId = clickOf(record);
  const clickIds = clickId === undefined ? [] : [clickId];
  if (people.modeOfCustomer(workspace, number) !== undefined) {
    for (const erasure of clickIds.flatMap((id) => people.erasuresWithout(workspace, number, id))) {
      await addFound(lateRows, erasure, { clickIds });
    }
    return true;
  }
  const erasure = people.erasureOf(workspace, number, externalId);
  if (erasure === undefined) return false;
  await addFound(lateRows, erasure, { customerNumber: number, clickIds });
  return true;
}

/** The error of a dead letter whose row was anonymised. ClickHouse may quote the row in its own. */
const ERASED_ERROR = 'the customer of this row was erased';

/** The dead letter as erasures leave it: undefined if it must not be kept, the same one if it concerns no erased person. */
export async function erasedLetter<Letter extends DeadLetter>(
  letter: Letter,
  people: ErasedInRows,
  lateRows: LateRows,
): Promise<Letter | undefined> {
  const { kind, row } = letter;
  if (kind === 'customer') return (await isErasedCustomer(row, people, lateRows)) ? undefined : letter;
  await addClicksBehind(kind, [row], people, lateRows);
  const kept = withoutErased(kind, row, people);
  if (kept === undefined) return undefined;
  if (kept === row) return letter;
  return { ...letter, row: kept, error: ERASED_ERROR };
}

/** Wraps dead letters: late rows are parked anonymised, or not at all. */
export function withoutErasedLetters(deadLetters: DeadLetters, lateRows: LateRows | undefined): DeadLetters {
  if (lateRows === undefined) return deadLetters;
  return {
    async park(letters) {
      const people = await readErased(lateRows);
      if (people === undefined) return deadLetters.park(letters);
      const left: DeadLetter[] = [];
      for (const letter of letters) {
        const kept = await erasedLetter(letter, people, lateRows);
        if (kept !== undefined) left.push(kept);
      }
      await deadLetters.park(left);
    },
  };
}
