import { type Catalog, linkVisibility } from '@waymark/catalog';
import {
  createFolderBodySchema,
  FOLDER_ACCESS_LEVELS,
  folderSchema,
  idAnswerSchema,
  idParamsSchema,
  listFoldersQuerySchema,
  updateFolderBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import { z } from 'zod';
import { createFolder, deleteFolder, folderObject, updateFolder, visibleFolder } from './folders.js';

const tags = ['Folders'];

/** `GET|POST /folders`, `GET|PATCH|DELETE /folders/{id}`. */
export async function folderRoutes(app: App, { catalog }: { readonly catalog: Catalog }): Promise<void> {
  const authenticateReader = app.authenticate({ permission: 'folders.read' });
  const authenticateWriter = app.authenticate({ permission: 'folders.write', minimumPlan: 'pro' });

  app.get(
    '/folders',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List folders',
        tags,
        querystring: listFoldersQuerySchema,
        response: { 200: z.array(folderSchema) },
      },
    },
    async ({ query, workspace, apiKey }) => {
      const { search, sortBy = 'createdAt', sortOrder = 'asc', page, pageSize } = query;
      const accessLevels = linkVisibility(apiKey).hidesFolders ? FOLDER_ACCESS_LEVELS : undefined;
      const request = { filters: { search, accessLevels }, sortBy, sortOrder, page, pageSize };
      return (await catalog.folders.list(workspace.id, request)).map(folderObject);
    },
  );

  app.post(
    '/folders',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Create a folder', tags, body: createFolderBodySchema, response: { 201: folderSchema } },
    },
    async ({ body, workspace }, reply) =>
      reply.code(201).send(folderObject(await createFolder(catalog, workspace, body))),
  );

  app.get(
    '/folders/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve a folder', tags, params: idParamsSchema, response: { 200: folderSchema } },
    },
    async (request) => folderObject(await visibleFolder(catalog, request, request.params.id)),
  );

  app.patch(
    '/folders/:id',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Update a folder',
        tags,
        params: idParamsSchema,
        body: updateFolderBodySchema,
        response: { 200: folderSchema },
      },
    },
    async (request) => folderObject(await updateFolder(catalog, request, request.params.id, request.body)),
  );

  app.delete(
    '/folders/:id',
    {
      onRequest: authenticateWriter,
      schema: { summary: 'Delete a folder', tags, params: idParamsSchema, response: { 200: idAnswerSchema } },
    },
    async (request) => {
      await deleteFolder(catalog, request, request.params.id);
      return { id: request.params.id };
    },
  );
}
