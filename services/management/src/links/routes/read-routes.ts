import type { KeyCaller } from '@waymark/catalog';
import {
  countLinksQuerySchema,
  exportLinksQuerySchema,
  LINK_COLUMNS,
  type LinkInfoQuery,
  linkInfoQuerySchema,
  linkSchema,
  linksCountSchema,
  listLinksQuerySchema,
  PARAM_CHARS_MAX,
} from '@waymark/contract';
import { chooseColumns, type ExportDeps, MEDIA_TYPES, sendList } from '@waymark/export';
import { type App, disconnectSignal } from '@waymark/http-kit';
import { exportLinks, LINK_COLUMN_SOURCES } from '@waymark/record-lists';
import { z } from 'zod';
import type { LinkDeps } from '../link-deps.js';
import { requireLink } from '../read/find-link.js';
import { countLinks, listLinks } from '../read/list-links.js';
import { linkObjectFor } from '../read/read-link-object.js';

/** The path parameter `linkId`: a `link_…` id, or `ext_` and an external id. */
export const linkParamsSchema = z.object({
  linkId: z.string().max(PARAM_CHARS_MAX).describe('Id of the link, `link_…`, or `ext_` and your own id.'),
});

/** `GET /links`, `GET /links/export`, `GET /links/count`, `GET /links/info`, `GET /links/{linkId}`. */
export async function readRoutes(app: App, deps: LinkDeps & ExportDeps): Promise<void> {
  const onRequest = app.authenticate({ permission: 'links.read' });
  const tags = ['Links'];

  const linkInfo = async (caller: KeyCaller, query: LinkInfoQuery) =>
    linkObjectFor(deps, caller, await requireLink(deps.catalog, caller, query));

  app.get(
    '/links',
    {
      onRequest,
      schema: {
        summary: 'List links',
        tags,
        querystring: listLinksQuerySchema,
        response: { 200: z.array(linkSchema) },
      },
    },
    (request) => listLinks(deps, request, request.query),
  );

  app.get(
    '/links/export',
    {
      exposeHeadRoute: false,
      onRequest,
      schema: {
        operationId: 'exportLinks',
        summary: 'Export links as a file',
        tags,
        querystring: exportLinksQuerySchema,
        produces: Object.values(MEDIA_TYPES),
      },
    },
    async (request, reply) => {
      const { query, workspace } = request;
      const columns = chooseColumns(query.columns, LINK_COLUMNS, LINK_COLUMN_SOURCES);
      const source = await exportLinks(deps, request, query, { clientLeft: disconnectSignal(reply) });
      const file = { workspaceId: workspace.id, what: 'links', nowMs: deps.now() };
      return sendList(reply, { ...file, query, columns, source, exportSlots: deps.exportSlots });
    },
  );

  app.get(
    '/links/count',
    {
      onRequest,
      schema: { summary: 'Count links', tags, querystring: countLinksQuerySchema, response: { 200: linksCountSchema } },
    },
    (request) => countLinks(deps, request, request.query),
  );

  app.get(
    '/links/info',
    {
      onRequest,
      schema: { summary: 'Retrieve a link', tags, querystring: linkInfoQuerySchema, response: { 200: linkSchema } },
    },
    (request) => linkInfo(request, request.query),
  );

  app.get(
    '/links/:linkId',
    {
      onRequest,
      schema: {
        summary: 'Retrieve a link by its id or, with `ext_`, its external id',
        tags,
        params: linkParamsSchema,
        response: { 200: linkSchema },
      },
    },
    (request) => linkInfo(request, request.params),
  );
}
