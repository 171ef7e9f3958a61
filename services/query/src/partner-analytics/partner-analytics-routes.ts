import { type Catalog, linkVisibility, type PartnerRecord, type WorkspaceRecord } from '@waymark/catalog';
import { ApiError, fieldError, partnerAnalyticsAnswerSchema, partnerAnalyticsQuerySchema } from '@waymark/contract';
import { bindAnalytics, checkDateRange, type ParsedAnalytics, parseAnalytics } from '@waymark/event-query';
import { type App, mapYielding, sendJson } from '@waymark/http-kit';
import { analyticsClock } from '../analytics/analytics-clock.js';
import type { AnalyticsRouteDeps } from '../analytics/analytics-routes.js';
import { readGroups } from '../analytics/read-groups.js';
import { createResponseBody, groupRow, linkFields } from '../analytics/response-body.js';

/** How many links of a partner are read, to list those without events. */
const LINKS_MAX = 1000;
/** Commissions are not supported, so earnings are always 0. */
const NO_EARNINGS = { earnings: 0 };
const NO_NUMBERS = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };

interface Reference {
  readonly partnerId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly programId?: string | null | undefined;
}

/** @throws ApiError `bad_request` when neither id is given, `not_found` when there is no such partner or program */
async function findPartner(
  { partners }: Catalog,
  workspace: WorkspaceRecord,
  { partnerId, tenantId, programId = workspace.defaultProgramId }: Reference,
): Promise<PartnerRecord> {
  const isOwn = programId !== null && programId === workspace.defaultProgramId;
  if (!isOwn) throw new ApiError('not_found', 'Program not found.');
  if (partnerId !== undefined) return partners.require(workspace.id, partnerId);
  if (tenantId === undefined) throw fieldError('required', 'partnerId', 'partnerId or tenantId must be given');
  const partner = await partners.findByTenantId(workspace.id, tenantId);
  if (partner === undefined) throw new ApiError('not_found', 'Partner not found.');
  return partner;
}

/** The request, for events of the links of one partner only. */
function ofPartner({ filters: parsed, ...rest }: ParsedAnalytics, partnerId: string): ParsedAnalytics {
  const values = { include: [partnerId], exclude: [] };
  const filters = [...parsed.filters, { type: 'list', parameter: 'partnerId', values } as const];
  return { ...rest, filters: { ...parsed, filters } };
}

type LinkRow = Readonly<Record<string, unknown>>;

/** Rows of the links with events, followed by the other links of the partner with zeros. */
async function withEveryLink(
  { partners }: Catalog,
  { workspaceId, id }: PartnerRecord,
  hidesFolders: boolean,
  rows: readonly LinkRow[],
): Promise<LinkRow[]> {
  const listed = new Set(rows.map((row) => row.id));
  const links = await partners.links(workspaceId, id, LINKS_MAX, hidesFolders);
  const others = links.filter((link) => !listed.has(link.id));
  return [...rows, ...others.map((link) => groupRow(linkFields(link), NO_NUMBERS))];
}

/** `GET /partners/analytics`: clicks, leads and sales of a partner's links (docs/reference/partners.md). */
export async function partnerAnalyticsRoutes(app: App, { catalog, runReads, now }: AnalyticsRouteDeps): Promise<void> {
  const responseBody = createResponseBody(catalog);
  app.get(
    '/partners/analytics',
    {
      onRequest: app.authenticate({ roles: ['owner', 'member'], minimumPlan: 'business' }),
      schema: {
        summary: 'Retrieve analytics of a partner',
        tags: ['Partners'],
        querystring: partnerAnalyticsQuerySchema,
        response: { 200: partnerAnalyticsAnswerSchema },
      },
    },
    async (request, reply) => {
      const { workspace } = request;
      const hidesFolders = await catalog.hiddenFolders.anyFor(workspace.id, linkVisibility(request.apiKey));
      const { partnerId, tenantId, programId, groupBy = 'count', ...range } = request.query;
      // An `end` without a `start` is ignored.
      const interval = range.interval ?? (range.start === undefined ? 'all' : undefined);
      const query = { ...range, interval, event: 'composite' as const, groupBy };
      const parsed = parseAnalytics(query, await analyticsClock(catalog, workspace, query, now()));
      checkDateRange(workspace, parsed.filters.range);
      const partner = await findPartner(catalog, workspace, { partnerId, tenantId, programId });
      const scope = {
        workspaceId: workspace.id,
        programId: workspace.defaultProgramId,
        hidesFolders,
      };
      const bound = bindAnalytics(ofPartner(parsed, partner.id), scope);
      const groups = await runReads(request, reply, (reads) => readGroups(reads, bound));
      const body = await responseBody(workspace.id, bound, groups);
      if (!Array.isArray(body)) return sendJson(reply, { ...body, ...NO_EARNINGS });
      const rows = groupBy === 'top_links' ? await withEveryLink(catalog, partner, hidesFolders, body) : body;
      // Each row is an object of this response alone.
      return sendJson(reply, await mapYielding(rows, (row) => Object.assign(row, NO_EARNINGS)));
    },
  );
}
