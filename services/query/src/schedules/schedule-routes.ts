import { type Catalog, type ExportScheduleRecord, type KeyCaller, linkVisibility } from '@waymark/catalog';
import {
  createExportScheduleBodySchema,
  exportScheduleSchema,
  idAnswerSchema,
  idParamsSchema,
  listExportSchedulesQuerySchema,
  updateExportScheduleBodySchema,
} from '@waymark/contract';
import type { App } from '@waymark/http-kit';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ScheduleSaver } from './save-schedule.js';
import { checkMayList, checkMayRead, checkMayWrite } from './schedule-access.js';
import { scheduleObject } from './schedule-object.js';

export interface ScheduleRouteDeps {
  readonly catalog: Catalog;
  readonly saver: ScheduleSaver;
}

const params = idParamsSchema;
const tags = ['Exports'];

/** `GET|POST /exports/schedules`, `GET|PATCH|DELETE /exports/schedules/{id}` (docs/reference/exports.md). */
export async function scheduleRoutes(app: App, { catalog, saver }: ScheduleRouteDeps): Promise<void> {
  const { exportSchedules } = catalog;
  // These routes read no events, so they have the default rate limit. Access is checked before the body and the parameters.
  const authenticate = app.authenticate({});
  const authenticateReader = [authenticate, async (request: FastifyRequest) => checkMayList(request)];
  const authenticateWriter = [authenticate, async (request: FastifyRequest) => checkMayWrite(request)];

  async function visible(caller: KeyCaller, id: string): Promise<ExportScheduleRecord> {
    const schedule = await exportSchedules.require(caller.workspace.id, id);
    checkMayRead(caller, schedule);
    return schedule;
  }

  app.get(
    '/exports/schedules',
    {
      onRequest: authenticateReader,
      schema: {
        summary: 'List export schedules',
        tags,
        querystring: listExportSchedulesQuerySchema,
        response: { 200: z.array(exportScheduleSchema) },
      },
    },
    async (request) => {
      const { query, workspace, apiKey } = request;
      const filters = { visibility: linkVisibility(apiKey) };
      const list = { filters, sortBy: 'createdAt', sortOrder: 'desc', ...query } as const;
      return (await exportSchedules.list(workspace.id, list)).map(scheduleObject);
    },
  );

  app.post(
    '/exports/schedules',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Export events on a schedule',
        description:
          'Writes the events that were stored in an hour, a day or a week to a storage with the interface of S3. A small object is uploaded at once, as a test.',
        tags,
        body: createExportScheduleBodySchema,
        response: { 201: exportScheduleSchema },
      },
    },
    async (request, reply) => {
      return reply.code(201).send(scheduleObject(await saver.create(request, request.body)));
    },
  );

  app.get(
    '/exports/schedules/:id',
    {
      onRequest: authenticateReader,
      schema: { summary: 'Retrieve an export schedule', tags, params, response: { 200: exportScheduleSchema } },
    },
    async (request) => scheduleObject(await visible(request, request.params.id)),
  );

  app.patch(
    '/exports/schedules/:id',
    {
      onRequest: authenticateWriter,
      config: { needsBody: true },
      schema: {
        summary: 'Update an export schedule',
        description:
          'A window that is being exported begins again. The schedule has the access of this API key afterwards.',
        tags,
        params,
        body: updateExportScheduleBodySchema,
        response: { 200: exportScheduleSchema },
      },
    },
    async (request) => {
      const { id } = await visible(request, request.params.id);
      return scheduleObject(await saver.update(request, id, request.body));
    },
  );

  app.delete(
    '/exports/schedules/:id',
    {
      onRequest: authenticateWriter,
      schema: {
        summary: 'Delete an export schedule',
        description: 'What it has exported stays in the storage.',
        tags,
        params,
        response: { 200: idAnswerSchema },
      },
    },
    async (request) => {
      const { workspaceId, id } = await visible(request, request.params.id);
      await exportSchedules.remove(workspaceId, id);
      return { id };
    },
  );
}
