import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryBoolean, queryText } from '../values/query-values.js';
import { resourceName } from './tag.js';

/** The access that every member of the workspace has to a folder; null = none. */
export const FOLDER_ACCESS_LEVELS = ['write', 'read'] as const;
const accessLevel = z.enum(FOLDER_ACCESS_LEVELS).nullable();
const description = z.string().max(500).nullable();

/** The folder object of every response. */
export const folderSchema = z.strictObject({
  id: z.string().describe('Id of the folder, `fold_…`.'),
  name: z.string().describe('Name of the folder, unique in the workspace in any case.'),
  description: description.describe('Description of the folder.'),
  type: z.enum(['default', 'mega']).describe('Always `default`.'),
  accessLevel: accessLevel.describe(
    'Access of all members of the workspace: `write`, `read`, or `null` for owners only.',
  ),
  createdAt: z.string().describe('When the folder was created.'),
  updatedAt: z.string().describe('When the folder was last changed.'),
});
export type Folder = z.infer<typeof folderSchema>;

/** Body of `POST /folders`. */
export const createFolderBodySchema = z.object({
  name: resourceName.describe('Name of the folder, unique in the workspace in any case.'),
  description: description.optional().describe('Description of the folder.'),
  accessLevel: accessLevel
    .optional()
    .describe('Access of all members of the workspace: `write` by default, `read`, or `null` for owners only.'),
});
export type CreateFolderBody = z.infer<typeof createFolderBodySchema>;

/** Body of `PATCH /folders/{id}`. */
export const updateFolderBodySchema = createFolderBodySchema.partial();

/** Query of `GET /folders`; sorted by creation, oldest first, by default. */
export const listFoldersQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'name'], 'asc'),
  ...pageShape({ pageSizeDefault: 50 }),
  search: queryText.describe('Part of the name of the folder, in any case.'),
  includeLinkCount: queryBoolean.describe('Deprecated, without effect: folders have no number of links.'),
});
