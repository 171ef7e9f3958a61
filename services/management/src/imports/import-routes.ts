import { type Catalog, type ImportJobRecord, type KeyCaller, linkVisibility } from '@waymark/catalog';
import {
  ApiError,
  type CreateImportBody,
  createImportBodySchema,
  idParamsSchema,
  importJobSchema,
  importUploadSchema,
  listImportsQuerySchema,
} from '@waymark/contract';
import { type ExportDeps, sendStoredFile } from '@waymark/export';
import { type App, parseInput } from '@waymark/http-kit';
import { checkFileVisible, checkSeesJob } from '@waymark/jobs';
import { z } from 'zod';
import { IMPORT_REQUIREMENTS } from './import-access.js';
import type { ImportEnds } from './import-ends.js';
import { type ImportFiles, REPORTS, type ReportName } from './import-files.js';
import { importObject } from './import-object.js';
import { checkApiOptions, checkFile, checkOptions } from './import-options.js';
import { acceptUploads, receiveUpload } from './receive-upload.js';
import type { UploadSlots } from './upload-slots.js';

export interface ImportRouteDeps extends ExportDeps {
  readonly catalog: Catalog;
  readonly files: ImportFiles;
  readonly ends: ImportEnds;
  readonly uploadSlots: UploadSlots;
  /** Maximum bytes of one uploaded file. */
  readonly fileBytesMax: number;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
}

const tags = ['Imports'];
const CSV_TYPE = 'text/csv';

/** `GET|POST /imports`, `GET|DELETE /imports/{id}`, `GET /imports/{id}/rejected.csv`, `GET /imports/{id}/lost.csv`. */
export async function importRoutes(app: App, deps: ImportRouteDeps): Promise<void> {
  const { catalog, files, ends, uploadSlots, exportSlots, fileBytesMax, baseUrl } = deps;
  const { importJobs } = catalog;
  const onRequest = app.authenticate(IMPORT_REQUIREMENTS);
  const objectOf = (job: ImportJobRecord) => importObject(files, baseUrl, job);
  await acceptUploads(app, fileBytesMax);

  async function visibleJob({ apiKey, workspace }: KeyCaller, id: string): Promise<ImportJobRecord> {
    const job = await importJobs.require(workspace.id, id);
    checkSeesJob(apiKey, job, 'import');
    return job;
  }

  type Options = Pick<CreateImportBody, 'source' | 'domains' | 'tags' | 'history' | 'onConflict' | 'timezone'>;

  async function create(
    { apiKey, workspace }: KeyCaller,
    { source, domains = [], tags: names = [], history = 'none', onConflict = 'skip', timezone }: Options,
    place: Pick<ImportJobRecord, 'directory' | 'format' | 'bytes' | 'address' | 'sourceWorkspace' | 'dryRun'>,
  ): Promise<ImportJobRecord> {
    const options = { source, domains, tags: names, history, onConflict, timezone: timezone ?? null };
    const rights = { keyId: apiKey.id, ...linkVisibility(apiKey) };
    try {
      return await importJobs.create(workspace.id, { ...options, ...place, ...rights });
    } catch (err) {
      // After other errors than a refusal the record may be stored, and its import needs the files.
      const isRefused = err instanceof ApiError && err.status < 500;
      await (isRefused ? files.remove(place.directory) : ends.mayBeUnused(place.directory));
      throw err;
    }
  }

  async function createFromApi(caller: KeyCaller, body: CreateImportBody): Promise<ImportJobRecord> {
    const { address = null, sourceWorkspace = null, dryRun = false } = body;
    await checkOptions(body);
    await checkApiOptions(body.source, address);
    // An import from an API has no file, but its reports will need room.
    await ends.makeRoom(0);
    const directory = await files.createDirectory();
    await files.writeCredential(directory, importJobs.seal(body.credentials.apiKey, directory));
    return create(caller, body, { directory, format: null, bytes: null, address, sourceWorkspace, dryRun });
  }

  app.get(
    '/imports',
    {
      onRequest,
      schema: {
        summary: 'List imports',
        tags,
        querystring: listImportsQuerySchema,
        response: { 200: z.array(importJobSchema) },
      },
    },
    async ({ workspace, apiKey, query }) => {
      const list = { filters: { visibility: linkVisibility(apiKey) }, sortBy: 'createdAt', sortOrder: 'desc' } as const;
      return Promise.all((await importJobs.list(workspace.id, { ...list, ...query })).map(objectOf));
    },
  );

  app.post(
    '/imports',
    {
      onRequest,
      schema: {
        operationId: 'createImport',
        summary: 'Import links of another system',
        description:
          'Imports a file, sent as the field `file` of a form with the options as fields beside it, or the links that the API of the source has.',
        tags,
        // Optional, because a form is not parsed as a body; `receiveUpload` reads it.
        body: createImportBodySchema.optional(),
        'x-form': importUploadSchema,
        response: { 202: importJobSchema },
      },
    },
    async (request, reply) => {
      await importJobs.checkRoom(request.workspace.id);
      if (!request.isMultipart()) {
        const body = request.body ?? parseInput(createImportBodySchema, undefined);
        return reply.code(202).send(await objectOf(await createFromApi(request, body)));
      }
      const free = uploadSlots.take(request.workspace.id);
      try {
        await ends.makeRoom(uploadSlots.count() * fileBytesMax);
        const { form, directory, format, bytes } = await receiveUpload(request, files, fileBytesMax);
        try {
          await checkOptions(form);
          await checkFile(form.source, format, files.readSource(directory));
        } catch (err) {
          await files.remove(directory);
          throw err;
        }
        const place = {
          directory,
          format,
          bytes,
          address: null,
          sourceWorkspace: null,
          dryRun: form.dryRun === 'true',
        };
        return reply.code(202).send(await objectOf(await create(request, form, place)));
      } finally {
        free();
      }
    },
  );

  app.get(
    '/imports/:id',
    {
      onRequest,
      schema: { summary: 'Retrieve an import', tags, params: idParamsSchema, response: { 200: importJobSchema } },
    },
    async (request) => objectOf(await visibleJob(request, request.params.id)),
  );

  app.delete(
    '/imports/:id',
    {
      onRequest,
      schema: {
        summary: 'Cancel an import',
        description:
          'Cancels an import that has not ended; what it has created stays. Removes the reports of one that has.',
        tags,
        params: idParamsSchema,
        response: { 200: importJobSchema },
      },
    },
    async (request) => {
      const { workspaceId, id } = await visibleJob(request, request.params.id);
      return objectOf(await ends.cancel(workspaceId, id));
    },
  );

  for (const name of Object.keys(REPORTS) as ReportName[]) {
    app.get(
      `/imports/:id/${REPORTS[name]}`,
      {
        onRequest,
        schema: {
          operationId: name === 'rejected' ? 'downloadRejectedRows' : 'downloadLostValues',
          summary: name === 'rejected' ? 'Download the rejected rows' : 'Download the values that have no place here',
          tags,
          params: idParamsSchema,
          produces: [CSV_TYPE],
        },
      },
      async (request, reply) => {
        const job = await visibleJob(request, request.params.id);
        const gone = new ApiError(
          'not_found',
          `The import has no file ${REPORTS[name]}, or not any more, or has not ended.`,
        );
        if (!job.files.some((file) => file.name === REPORTS[name])) throw gone;
        await checkFileVisible(catalog, request.apiKey, job);
        // The path is built from the record, never from texts of the request.
        const file = {
          path: files.reportOf(job, name),
          name: REPORTS[name],
          contentType: `${CSV_TYPE}; charset=utf-8`,
        };
        const takeSlot = () => exportSlots.takeDownload(request.workspace.id);
        if (!(await sendStoredFile(reply, file, { takeSlot }))) throw gone;
        return reply;
      },
    );
  }
}
