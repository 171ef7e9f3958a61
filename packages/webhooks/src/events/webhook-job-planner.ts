import { type Catalog, isUnreadable, type WebhookRecord } from '@waymark/catalog';
import { formatResourceId, groupBy, type WebhookTrigger } from '@waymark/contract';
import { type EventTableKind, type RowIds, rowIds } from '@waymark/event-format';
import type { PlanWebhookJobs } from '@waymark/event-queue';
import { jobText, webhookJobId } from '../delivery/webhook-job.js';
import type { EventJobLimit, PlannedJob } from './event-job-limit.js';
import { webhooksFor } from './webhook-queue.js';

/** The webhook trigger of each kind of event. */
export const TRIGGER_OF: Readonly<Record<EventTableKind, WebhookTrigger>> = {
  click: 'link.clicked',
  lead: 'lead.created',
  sale: 'sale.created',
};

/** Dependencies of {@link createWebhookJobPlanner}. */
export interface WebhookJobPlannerDeps {
  readonly catalog: Pick<Catalog, 'webhooks' | 'workspaces' | 'links'>;
  /** That of the Redis to which the jobs are added. */
  readonly limit: EventJobLimit;
}

const EVENTS_PER_JOB = 100;

/** The ids of the rows, by the number of their workspace. */
function byWorkspace(kind: EventTableKind, rows: readonly string[]): Map<string, RowIds[]> {
  const events = rows.flatMap((row) => rowIds(kind, row) ?? []);
  return groupBy(events, ({ workspaceId }) => workspaceId);
}

/** The jobs that deliver the events to the webhook. */
function jobsFor(webhook: WebhookRecord, event: WebhookTrigger, batchId: string, events: readonly RowIds[]) {
  const jobs: PlannedJob[] = [];
  for (let start = 0; start < events.length; start += EVENTS_PER_JOB) {
    const eventIds = events.slice(start, start + EVENTS_PER_JOB).map(({ eventId }) => eventId);
    const { id: webhookId, workspaceId } = webhook;
    const data = jobText({ workspaceId, webhookId, event, eventIds });
    jobs.push({ id: webhookJobId(webhookId, `${batchId}-${start}`), data, deliveries: eventIds.length });
  }
  return jobs;
}

/**
 * Creates the function that returns the webhook jobs for the rows of an insert. A workspace without a matching webhook costs one
 * lookup in a map. If a webhook is for the clicks of some links only, the links are read from the catalog's cache. The jobs of a workspace
 * are counted before they are queued, and left out as {@link EventJobLimit} describes.
 */
export function createWebhookJobPlanner({ catalog, limit }: WebhookJobPlannerDeps): PlanWebhookJobs {
  /**
   * The events to send to a webhook. Only the scope `links` is checked here; folders are checked at delivery, as are links that cannot be
   * read: they must not stop the inserts of all workspaces.
   */
  async function eventsInScope(
    { id, workspaceId, linkScope }: WebhookRecord,
    trigger: WebhookTrigger,
    events: RowIds[],
  ) {
    if (trigger !== 'link.clicked' || linkScope !== 'links') return events;
    const numbers = [...new Set(events.map(({ linkId }) => linkId))];
    const idByNumber = new Map(numbers.map((number) => [number, formatResourceId('link', number)]));
    const links = await catalog.links.getMany(workspaceId, [...idByNumber.values()]).catch((err: unknown) => {
      if (!isUnreadable(err)) throw err;
      return undefined;
    });
    if (links === undefined) return events;
    const isListed = (number: string) => links.get(idByNumber.get(number) ?? '')?.webhookIds.includes(id) ?? false;
    return events.filter(({ linkId }) => isListed(linkId));
  }

  return async ({ kind, batchId, rows }) => {
    const trigger = TRIGGER_OF[kind];
    const jobsOf = async ([workspace, events]: [string, RowIds[]]) => {
      const workspaceId = formatResourceId('workspace', workspace);
      const jobs: PlannedJob[] = [];
      for (const webhook of await webhooksFor(catalog, workspaceId, trigger)) {
        jobs.push(...jobsFor(webhook, trigger, batchId, await eventsInScope(webhook, trigger, events)));
      }
      return jobs.length === 0 ? jobs : limit.admit(kind, workspaceId, jobs);
    };
    return (await Promise.all([...byWorkspace(kind, rows)].map(jobsOf))).flat();
  };
}
