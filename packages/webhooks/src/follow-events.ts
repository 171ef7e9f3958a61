import type { WebhookRecord } from '@waymark/catalog';
import type { EventTableKind } from '@waymark/clickhouse';
import { formatResourceId, parseResourceId, type WebhookTrigger } from '@waymark/contract';
import type { WebhookJob, WebhookJobsOf } from '@waymark/event-queue';
import { jobText, webhookJobId } from './webhook-job.js';

/** What is told of an inserted row. */
export const TRIGGER_OF: Readonly<Record<EventTableKind, WebhookTrigger>> = {
  click: 'link.clicked',
  lead: 'lead.created',
  sale: 'sale.created',
};

export interface FollowEventsParts {
  readonly catalog: { readonly webhooks: { active(workspaceId: string): Promise<readonly WebhookRecord[]> } };
}

const EVENTS_PER_JOB = 100;
/** Workspace, time and id begin every row; a click's link comes next. Ids are digits, with quotes or without. */
const ROW_START = /^\["?(\d+)"?,\d+,"([0-9A-Za-z]+)"(?:,"?(\d+)"?[,\]])?/;

interface RowEvent {
  readonly id: string;
  /** Of clicks only. */
  readonly linkNumber: string | undefined;
}

function byWorkspace(rows: readonly string[]): Map<string, RowEvent[]> {
  const events = new Map<string, RowEvent[]>();
  for (const row of rows) {
    const [, workspace, id, linkNumber] = ROW_START.exec(row) ?? [];
    if (workspace === undefined || id === undefined) continue;
    const known = events.get(workspace);
    if (known === undefined) events.set(workspace, [{ id, linkNumber }]);
    else known.push({ id, linkNumber });
  }
  return events;
}

/** Folders are looked at when it is delivered: only then the link is read. */
function concerned(webhook: WebhookRecord, trigger: WebhookTrigger, events: readonly RowEvent[]): readonly RowEvent[] {
  if (trigger !== 'link.clicked' || webhook.linkScope !== 'links') return events;
  const links = new Set(webhook.linkIds.map((id) => parseResourceId('link', id)));
  return events.filter(({ linkNumber }) => links.has(linkNumber));
}

function jobsFor(webhook: WebhookRecord, event: WebhookTrigger, groupId: string, events: readonly RowEvent[]) {
  const jobs: WebhookJob[] = [];
  for (let start = 0; start < events.length; start += EVENTS_PER_JOB) {
    const eventIds = events.slice(start, start + EVENTS_PER_JOB).map(({ id }) => id);
    const { id: webhookId, workspaceId } = webhook;
    const data = jobText({ workspaceId, webhookId, event, eventIds });
    jobs.push({ id: webhookJobId(webhookId, `${groupId}-${start}`), data });
  }
  return jobs;
}

/**
 * The jobs that tell webhooks of the rows of an insert. A workspace without a webhook for them costs a look into a map; of
 * clicks, those of links that a webhook does not list cost no more either.
 */
export function createEventFollower({ catalog }: FollowEventsParts): WebhookJobsOf {
  return async ({ kind, groupId, rows }) => {
    const trigger = TRIGGER_OF[kind];
    const jobs: WebhookJob[] = [];
    const follow = async ([workspace, events]: [string, RowEvent[]]) => {
      for (const webhook of await catalog.webhooks.active(formatResourceId('workspace', workspace))) {
        if (!webhook.triggers.includes(trigger)) continue;
        jobs.push(...jobsFor(webhook, trigger, groupId, concerned(webhook, trigger, events)));
      }
    };
    await Promise.all([...byWorkspace(rows)].map(follow));
    return jobs;
  };
}
