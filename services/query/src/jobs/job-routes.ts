import { type Catalog, type ExportJobRecord, type KeyCaller, linkVisibility } from '@waymark/catalog';
import {
  createExportBodySchema,
  exportJobSchema,
  idParamsSchema,
  listExportsQuerySchema,
  PARAM_CHARS_MAX,
} from '@waymark/contract';
import { type ExportDeps, MEDIA_TYPES, sendStoredFile } from '@waymark/export';
import type { App } from '@waymark/http-kit';
import { checkFileVisible } from '@waymark/jobs';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { checkReadsAny, checkReadsNamed, checkUsage, checkVisible, readableResources } from './export-access.js';
import { fileGone, type JobEnds } from './job-ends.js';
import type { JobFiles } from './job-files.js';
import { jobObject } from './job-object.js';
import type { OpenJob } from './job-source.js';

export interface JobRouteDeps extends ExportDeps {
  readonly catalog: Catalog;
  readonly files: JobFiles;
  readonly ends: JobEnds;
  readonly openJob: OpenJob;
  /** Public origin of the API with its path prefix, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => number;
}

const ARCHIVE_TYPE = 'application/zip';
const fileParamsSchema = idParamsSchema.extend({ name: z.string().max(PARAM_CHARS_MAX).describe('Name of the file.') });
const tags = ['Exports'];

/** `GET|POST /exports`, `GET|DELETE /exports/{id}`, `GET /exports/{id}/files/{name}` (docs/reference/exports.md). */
export async function jobRoutes(app: App, deps: JobRouteDeps): Promise<void> {
  const { catalog, files, ends, openJob, exportSlots, baseUrl, now } = deps;
  const { exportJobs } = catalog;
  // What a key needs depends on the resource, so each route checks it.
  const onRequest = app.authenticate({});
  const objectOf = (job: ExportJobRecord) => jobObject(files, baseUrl, job);

  async function visibleJob(caller: KeyCaller, id: string): Promise<ExportJobRecord> {
    const job = await exportJobs.require(caller.workspace.id, id);
    checkVisible(caller, job);
    return job;
  }

  app.get(
    '/exports',
    {
      onRequest,
      schema: {
        summary: 'List export jobs',
        tags,
        querystring: listExportsQuerySchema,
        response: { 200: z.array(exportJobSchema) },
      },
    },
    async (request) => {
      const filters = { resources: readableResources(request), visibility: linkVisibility(request.apiKey) };
      const list = { filters, sortBy: 'createdAt', sortOrder: 'desc', ...request.query } as const;
      return Promise.all((await exportJobs.list(request.workspace.id, list)).map(objectOf));
    },
  );

  app.post(
    '/exports',
    {
      onRequest: [onRequest, async (request: FastifyRequest) => checkReadsAny(request)],
      preValidation: async (request) => checkReadsNamed(request, request.body),
      schema: {
        summary: 'Export a list in the background',
        description: 'Creates the file of `GET /<resource>/export` in the background, and keeps it for seven days.',
        tags,
        body: createExportBodySchema,
        response: { 202: exportJobSchema },
      },
    },
    async (request, reply) => {
      const { workspace, apiKey, body } = request;
      const { resource, format = 'csv', columns = null, escapeFormulas = true, filters = {} } = body;
      await checkUsage(catalog, request, resource);
      const job = { resource, format, columns, escapeFormulas, filters };
      // Throws for an invalid request. Nothing is read yet.
      await openJob(request, job, now());
      const created = await exportJobs.create(workspace.id, { ...job, ...linkVisibility(apiKey), keyId: apiKey.id });
      return reply.code(202).send(await objectOf(created));
    },
  );

  app.get(
    '/exports/:id',
    {
      onRequest,
      schema: { summary: 'Retrieve an export job', tags, params: idParamsSchema, response: { 200: exportJobSchema } },
    },
    async (request) => objectOf(await visibleJob(request, request.params.id)),
  );

  app.delete(
    '/exports/:id',
    {
      onRequest,
      schema: {
        summary: 'Cancel an export job',
        description: 'Cancels a job that has not ended, and removes the file of one that is completed.',
        tags,
        params: idParamsSchema,
        response: { 200: exportJobSchema },
      },
    },
    async (request) => {
      const { workspaceId, id } = await visibleJob(request, request.params.id);
      return objectOf(await ends.cancel(workspaceId, id));
    },
  );

  app.get(
    '/exports/:id/files/:name',
    {
      onRequest,
      schema: {
        operationId: 'downloadExport',
        summary: 'Download the file of an export job',
        description: 'Answers `Range` with a part of the file, and `HEAD` with its headers.',
        tags,
        params: fileParamsSchema,
        produces: [...Object.values(MEDIA_TYPES), ARCHIVE_TYPE],
      },
    },
    async (request, reply) => {
      const { id, name } = request.params;
      const job = await visibleJob(request, id);
      if (job.status !== 'completed' || job.file === null || job.file !== name) throw fileGone();
      await checkFileVisible(catalog, request.apiKey, job);
      // The path is made from the record, never from the request, which could name any file of the machine.
      const type = job.resource === 'analytics' ? ARCHIVE_TYPE : MEDIA_TYPES[job.format];
      const contentType = type.startsWith('text/') || job.format === 'ndjson' ? `${type}; charset=utf-8` : type;
      const file = { path: files.fileOf(job, job.file), name: job.file, contentType };
      const takeSlot = () => exportSlots.takeDownload(request.workspace.id);
      if (!(await sendStoredFile(reply, file, { takeSlot }))) throw fileGone();
      return reply;
    },
  );
}
