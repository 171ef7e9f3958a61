import { type Catalog, linkVisibility, type PartnerRecord, type WorkspaceRecord } from '@waymark/catalog';
import { ApiError, fieldError, partnerAnalyticsAnswerSchema, partnerAnalyticsQuerySchema } from '@waymark/contract';
import { bindAnalytics, checkDateRange, type ParsedAnalytics, parseAnalytics } from '@waymark/event-query';
import { type App, sendJson, sendJsonText } from '@waymark/http-kit';
import { analyticsClock } from '../analytics/analytics-clock.js';
import type { AnalyticsRouteDeps } from '../analytics/analytics-routes.js';
import { readUnsentGroups, textOfRows } from '../analytics/read-answer.js';
import { createAnswerOf, groupRow, linkFields, type RowParts } from '../analytics/response-body.js';
import { callerOf } from '../events/find-references.js';

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

/** Rows of the links with events, followed by the other links of the partner with zeros. */
async function* withEveryLink(
  { partners }: Catalog,
  { workspaceId, id }: PartnerRecord,
  hidesFolders: boolean,
  rows: RowParts,
): RowParts {
  const listed = new Set<unknown>();
  for await (const part of rows) {
    for (const row of part) listed.add((row as { readonly id?: unknown }).id);
    yield part;
  }
  const links = await partners.links(workspaceId, id, LINKS_MAX, hidesFolders);
  const others = links.filter((link) => !listed.has(link.id));
  yield others.map((link) => groupRow(linkFields(link), NO_NUMBERS));
}

/** Each row is an object of this response alone. */
async function* withoutEarnings(rows: RowParts): RowParts {
  for await (const part of rows) yield part.map((row) => Object.assign(row, NO_EARNINGS));
}

/** `GET /partners/analytics`: clicks, leads and sales of a partner's links (docs/reference/partners.md). */
export async function partnerAnalyticsRoutes(app: App, deps: AnalyticsRouteDeps): Promise<void> {
  const { catalog, now } = deps;
  const answerOf = createAnswerOf(catalog);
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
      const read = await readUnsentGroups(deps, request, reply, bound);
      const answer = answerOf(callerOf(request), bound, read.groups);
      if (!('rows' in answer)) return sendJson(reply, { ...answer.numbers, ...NO_EARNINGS });
      const { rows } = answer;
      const listed = groupBy === 'top_links' ? withEveryLink(catalog, partner, hidesFolders, rows) : rows;
      return sendJsonText(reply, await textOfRows(withoutEarnings(listed), read));
    },
  );
}
