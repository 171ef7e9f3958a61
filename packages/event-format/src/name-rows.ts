import type { EventRow } from './columns.js';

/** The table of unique names. A row gives a name to a record, or takes it away when the row is `deleted`. */
export const NAMES_TABLE = {
  table: 'names',
  columns: ['kind', 'scope', 'name', 'id', 'workspace_id', 'version', 'deleted'],
} as const;

/**
 * The row of `names` that makes a customer findable by its external id within its workspace.
 *
 * @param row a customer row, version 1: workspace, id, version, deleted, external id, …
 */
export function customerNameRow(row: EventRow): EventRow {
  const [workspaceId, id, version, deleted, externalId] = row;
  if (version === undefined || deleted === undefined || typeof externalId !== 'string')
    throw new TypeError('not a customer row');
  return ['customer', String(workspaceId), externalId, String(id), String(workspaceId), version, deleted];
}
