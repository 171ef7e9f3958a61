/** The fields of a queued customer row that erasures and the writer use. `workspace` and `number` are the UInt64 of ids, as decimal text. */
export interface QueuedCustomer {
  readonly workspace: string;
  readonly number: string;
  readonly externalId: string;
  /** The last column of the row: the customer as JSON. */
  readonly record: string;
}

const isTextOrNumber = (value: unknown) => typeof value === 'string' || typeof value === 'number';

/** Reads a customer row of version 1: workspace, number, version, deleted, external id, …, record. Undefined for a malformed row. */
export function readCustomerRow(row: string): QueuedCustomer | undefined {
  try {
    const values: unknown = JSON.parse(row);
    if (!Array.isArray(values)) return undefined;
    const [workspace, number, version, deleted, externalId] = values as unknown[];
    if (typeof workspace !== 'string' || typeof number !== 'string' || typeof externalId !== 'string') return undefined;
    if (!isTextOrNumber(version) || !isTextOrNumber(deleted)) return undefined;
    return { workspace, number, externalId, record: String(values.at(-1)) };
  } catch {
    return undefined;
  }
}
