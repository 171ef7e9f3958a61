import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape, sortShape } from '../values/paging.js';
import { queryText } from '../values/query-values.js';
import { resourceName } from './tag.js';

/** The access that every member of the workspace has to a folder; null = none. */
export const FOLDER_ACCESS_LEVELS = ['write', 'read'] as const;
const accessLevel = z.enum(FOLDER_ACCESS_LEVELS).nullable();
const description = z.string().max(500).nullable();

/** The folder object of every response. */
export const folderSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  description,
  type: z.enum(['default', 'mega']),
  accessLevel,
  createdAt: z.string(),
  updatedAt: z.string(),
});
export type Folder = z.infer<typeof folderSchema>;

/** Body of `POST /folders`. */
export const createFolderBodySchema = z.object({
  name: resourceName,
  description: description.optional(),
  accessLevel: accessLevel.optional(),
});
export type CreateFolderBody = z.infer<typeof createFolderBodySchema>;

/** Body of `PATCH /folders/{id}`. */
export const updateFolderBodySchema = createFolderBodySchema.partial();

/** Query of `GET /folders`; sorted by creation, oldest first, by default. */
export const listFoldersQuerySchema = closedQuery({
  ...sortShape(['createdAt', 'name']),
  ...pageShape({ pageSizeDefault: 50 }),
  search: queryText,
});
