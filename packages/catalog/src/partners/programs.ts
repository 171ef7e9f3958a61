import { createResourceId } from '@waymark/contract';
import type { GroupRecord, ProgramRecord } from '../model/record-schemas.js';

/** Slug of the group of partners whose request names none. */
export const DEFAULT_GROUP = 'default';

/** The fields of a new program that its draft takes over. */
export type ProgramDraftFields = Pick<ProgramRecord, 'name' | 'domainId' | 'url'>;

/** Creates the records of a new program and its default group, with new ids. Stores nothing. */
export function draftProgram(
  workspaceId: string,
  input: ProgramDraftFields,
  nowMs: number,
): { readonly program: ProgramRecord; readonly group: GroupRecord } {
  const time = new Date(nowMs).toISOString();
  const common = { workspaceId, createdAt: time, updatedAt: time };
  const id = createResourceId('program', nowMs);
  const group: GroupRecord = {
    ...common,
    id: createResourceId('partnerGroup', nowMs),
    name: 'Default group',
    slug: DEFAULT_GROUP,
    color: null,
    programId: id,
  };
  return { program: { ...common, ...input, id, defaultFolderId: null, defaultGroupId: group.id }, group };
}
