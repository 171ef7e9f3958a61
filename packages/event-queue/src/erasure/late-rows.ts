import { anonymisedRow, type EventRow, type EventTableKind, rowIds } from '@waymark/event-format';
import type { DeadLetters } from '../queue/dead-letters.js';
import { isSilentRow, silentRow } from '../queue/job-rows.js';
import type { EventTable } from '../writer/event-table.js';

/** The erasure of a person, as far as the queue needs it. */
export interface ErasureReference {
  readonly id: string;
  readonly workspaceId: string;
}

/** Who was erased lately, by the ids in rows of the queue: numbers are the UInt64 of ids as decimal text. */
export interface ErasedInRows {
  modeOfCustomer(workspaceNumber: string, customerNumber: string): 'anonymise' | 'delete' | undefined;
  modeOfClick(workspaceNumber: string, clickId: string): 'anonymise' | 'delete' | undefined;
  /** The erasure of a queued customer's external id, if the customer was made before it was accepted. */
  erasureOf(workspaceNumber: string, customerNumber: string, externalId: string): ErasureReference | undefined;
}

/** What a writer does about rows of erased people that arrive late. */
export interface LateRows {
  /** @returns undefined when nobody was erased lately, which costs nothing. @throws when that cannot be read */
  current(): Promise<ErasedInRows | undefined>;
  /** A customer in the queue belongs to an erasure: its events do, too. */
  onCustomer(erasure: ErasureReference, customerNumber: string): Promise<unknown>;
}

/** @throws an error that is no refusal of rows by ClickHouse, so that the writer retries the insert */
export async function readErased(lateRows: LateRows): Promise<ErasedInRows | undefined> {
  try {
    return await lateRows.current();
  } catch (err) {
    throw new Error('the erasures could not be read', { cause: err });
  }
}

/**
 * The row of an event without what an erasure takes out of it.
 *
 * @returns undefined for a row that must not be stored at all; the same text when the row is not of an erased person
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

/** The table, but rows of people who were erased meanwhile are stored without their texts, or not at all. */
export function withoutErasedRows(table: EventTable, kind: EventTableKind, lateRows: LateRows | undefined): EventTable {
  if (lateRows === undefined) return table;
  return {
    ...table,
    async insert(version, rows, token) {
      // At each attempt, because an insert may be repeated for hours.
      const people = await readErased(lateRows);
      const left = people === undefined ? rows : rows.flatMap((row) => withoutErased(kind, row, people) ?? []);
      if (left.length > 0) await table.insert(version, left, token);
    },
  };
}

/** The first columns of a customer row: workspace, number, version, deleted, external id. */
function customerOf(row: string): readonly [workspace: string, number: string, externalId: string] | undefined {
  try {
    const [workspace, number, , , externalId] = JSON.parse(row) as unknown[];
    return [String(workspace), String(number), String(externalId)];
  } catch {
    return undefined;
  }
}

/** Whether a queued customer is one of a person who was erased; reports one that was found by its external id. */
export async function isErasedCustomer(row: string, people: ErasedInRows, lateRows: LateRows): Promise<boolean> {
  const customer = customerOf(row);
  if (customer === undefined) return false;
  const [workspace, number, externalId] = customer;
  if (people.modeOfCustomer(workspace, number) !== undefined) return true;
  const erasure = people.erasureOf(workspace, number, externalId);
  if (erasure === undefined) return false;
  await lateRows.onCustomer(erasure, number);
  return true;
}

/** The dead letters, without rows of people who were erased. */
export function withoutErasedLetters(deadLetters: DeadLetters, lateRows: LateRows | undefined): DeadLetters {
  if (lateRows === undefined) return deadLetters;
  return {
    async park(letters) {
      const people = await readErased(lateRows);
      if (people === undefined) return deadLetters.park(letters);
      const left = [];
      for (const letter of letters) {
        const { kind, row } = letter;
        if (kind === 'customer') {
          if (!(await isErasedCustomer(row, people, lateRows))) left.push(letter);
          continue;
        }
        const kept = withoutErased(kind, row, people);
        // ClickHouse may quote the row in its error.
        if (kept === row) left.push(letter);
        else if (kept !== undefined) left.push({ ...letter, row: kept, error: ERASED_ERROR });
      }
      await deadLetters.park(left);
    },
  };
}

/** The error of a dead letter whose row was anonymised. */
export const ERASED_ERROR = 'the customer of this row was erased';
