import type { Catalog, WebhookRecord } from '@waymark/catalog';
import type { EventTableKind } from '@waymark/clickhouse';
import { formatResourceId, type WebhookTrigger } from '@waymark/contract';
import type { WebhookJob, WebhookJobsOf } from '@waymark/event-queue';
import { jobText, webhookJobId } from './webhook-job.js';

/** What is told of an inserted row. */
export const TRIGGER_OF: Readonly<Record<EventTableKind, WebhookTrigger>> = {
  click: 'link.clicked',
  lead: 'lead.created',
  sale: 'sale.created',
};

export interface FollowEventsParts {
  readonly catalog: Pick<Catalog, 'webhooks' | 'links'>;
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
 * The jobs that tell webhooks of the rows of an insert. A workspace without a webhook for them costs a look into a map; with
 * one for the clicks of some links, their other links cost a look into the cache of links.
 */
export function createEventFollower({ catalog }: FollowEventsParts): WebhookJobsOf {
  /** Links themselves say which webhooks list them. Folders are looked at when it is delivered. */
  async function concerned({ id, workspaceId, linkScope }: WebhookRecord, trigger: WebhookTrigger, events: RowEvent[]) {
    if (trigger !== 'link.clicked' || linkScope !== 'links') return events;
    const numbers = [...new Set(events.flatMap(({ linkNumber }) => linkNumber ?? []))];
    const idByNumber = new Map(numbers.map((number) => [number, formatResourceId('link', number)]));
    const links = await catalog.links.getMany(workspaceId, [...idByNumber.values()]);
    const isListed = (number = '') => links.get(idByNumber.get(number) ?? '')?.webhookIds.includes(id) ?? false;
    return events.filter(({ linkNumber }) => isListed(linkNumber));
  }

  return async ({ kind, groupId, rows }) => {
    const trigger = TRIGGER_OF[kind];
    const jobs: WebhookJob[] = [];
    const follow = async ([workspace, events]: [string, RowEvent[]]) => {
      for (const webhook of await catalog.webhooks.active(formatResourceId('workspace', workspace))) {
        if (!webhook.triggers.includes(trigger)) continue;
        jobs.push(...jobsFor(webhook, trigger, groupId, await concerned(webhook, trigger, events)));
      }
    };
    await Promise.all([...byWorkspace(rows)].map(follow));
    return jobs;
  };
}
