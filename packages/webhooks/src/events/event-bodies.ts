import {
  type Catalog,
  type CustomerRecord,
  type CustomerTotals,
  type LinkRecord,
  WEBHOOK_VISIBILITY,
  type WebhookRecord,
} from '@waymark/catalog';
import { type Customer, deletedCustomer, type Link, type WebhookPartner, type WebhookTrigger } from '@waymark/contract';
import type { EventTableKind } from '@waymark/event-format';
import type { OutgoingEvent } from '../delivery/webhook-job.js';
import { type EventStore, readStoredEvents, type StoredEvent } from './stored-events.js';
import { webhookEventIdOf } from './webhook-event-id.js';
import { TRIGGER_OF } from './webhook-job-planner.js';
import { readPartners } from './webhook-partners.js';

/** Dependencies of {@link createEventBodies}. */
export interface EventBodiesDeps extends EventStore {
  readonly catalog: Catalog;
}

/** The events of a job, with their bodies. */
export interface ReadBodies {
  /** In the order of the ids. A body is made when it is read, and not kept: those of a job may have 16 MB together. */
  readonly events: readonly OutgoingEvent[];
  /** Ids of events that do not exist. */
  readonly absent: readonly string[];
  /** Ids of events that may exist, see `FoundEvents`: read them later. */
  readonly unknown: readonly string[];
  /** Why it is not known whether they exist. */
  readonly cause?: unknown;
  /** For the next look-up of these: see `readStoredEvents`. */
  readonly since?: number | undefined;
}

const KIND_OF = new Map<WebhookTrigger, EventTableKind>(
  Object.entries(TRIGGER_OF).map(([kind, trigger]) => [trigger, kind as EventTableKind]),
);

/** An event with its request body. @param id `evt_…` */
export function outgoingEvent(id: string, event: WebhookTrigger, createdAtMs: number, data: object): OutgoingEvent {
  return { id, body: JSON.stringify({ id, event, createdAt: new Date(createdAtMs).toISOString(), data }) };
}

/**
 * Whether clicks of the link are in the scope that the webhook has now. A link that lists the webhook is in scope `folders` whatever its
 * folder is.
 */
function isInScope({ id, linkScope, folderIds }: WebhookRecord, { folderId, webhookIds }: LinkRecord): boolean {
  if (linkScope === null) return false;
  if (linkScope === 'workspace') return true;
  if (webhookIds.includes(id)) return true;
  return linkScope === 'folders' && folderId !== null && folderIds.includes(folderId);
}

/** The events of people who were not erased lately. */
async function withoutErased(
  { erasures }: Pick<Catalog, 'erasures'>,
  workspaceId: string,
  events: readonly StoredEvent[],
): Promise<readonly StoredEvent[]> {
  const people = await erasures.people.current();
  if (people === undefined) return events;
  const isErased = ({ id, customerId }: StoredEvent) =>
    (customerId === undefined ? people.modeOfClickId(workspaceId, id) : people.modeOfId(workspaceId, customerId)) !==
    undefined;
  return events.filter((event) => !isErased(event));
}

/** Builds the request bodies of events that are in ClickHouse. */
export function createEventBodies({ catalog, ...store }: EventBodiesDeps) {
  async function linksOf(
    workspaceId: string,
    events: readonly StoredEvent[],
    isIncluded: (link: LinkRecord) => boolean,
  ) {
    const found = await catalog.links.getMany(workspaceId, [...new Set(events.map(({ linkId }) => linkId))]);
    const records = [...found.values()].filter(isIncluded);
    const objects = await catalog.links.objects(workspaceId, records, WEBHOOK_VISIBILITY);
    return new Map(objects.map((link) => [link.id, link]));
  }

  function customerObject(
    id: string,
    record: CustomerRecord | undefined,
    totals: CustomerTotals | undefined,
  ): Customer {
    return record === undefined ? deletedCustomer(id) : catalog.customers.toCustomer(record, totals);
  }

  async function customersOf(workspaceId: string, events: readonly StoredEvent[]): Promise<Map<string, Customer>> {
    const ids = [...new Set(events.flatMap(({ customerId }) => customerId ?? []))];
    if (ids.length === 0) return new Map();
    const [records, totals] = await Promise.all([
      catalog.customers.getMany(workspaceId, ids),
      catalog.customers.counters(workspaceId, ids),
    ]);
    return new Map(ids.map((id) => [id, customerObject(id, records.get(id), totals.get(id))]));
  }

  function partnersOf(workspaceId: string, links: Iterable<Link>): Promise<Map<string, WebhookPartner>> {
    const ids = [...new Set([...links].flatMap(({ partnerId }) => partnerId ?? []))];
    return readPartners(catalog, workspaceId, ids);
  }

  return {
    /**
     * Reads events. Leaves out those of erased people, and those whose link is deleted or out of the webhook's scope by now. Returns nothing
     * for triggers other than those of clicks, leads and sales.
     *
     * @param since see `readStoredEvents`
     */
    async read(
      webhook: WebhookRecord,
      event: WebhookTrigger,
      ids: readonly string[],
      since?: number,
    ): Promise<ReadBodies> {
      const kind = KIND_OF.get(event);
      if (kind === undefined || ids.length === 0) return { events: [], absent: [], unknown: [] };
      const { workspaceId } = webhook;
      const { events: stored, ...missing } = await readStoredEvents(store, kind, workspaceId, ids, since);
      const events = await withoutErased(catalog, workspaceId, stored);
      const links = await linksOf(workspaceId, events, (link) => kind !== 'click' || isInScope(webhook, link));
      const [customers, partners] =
        kind === 'click'
          ? [new Map<string, Customer>(), new Map<string, WebhookPartner>()]
          : await Promise.all([customersOf(workspaceId, events), partnersOf(workspaceId, links.values())]);

      const dataOf = ({ payload, ip, eventName, customerId = '' }: StoredEvent, link: Link): object => {
        const click = { ...payload.click, ip };
        if (kind === 'click') return { click, link };
        const partner = partners.get(link.partnerId ?? '');
        return {
          eventName,
          customer: customers.get(customerId),
          click,
          link,
          ...(partner === undefined ? {} : { partner }),
          ...(kind === 'sale' ? { sale: payload.sale } : {}),
          metadata: payload.metadata ?? null,
        };
      };
      const outgoing = events.flatMap((one) => {
        const link = links.get(one.linkId);
        if (link === undefined) return [];
        const id = webhookEventIdOf(event, one.id);
        return {
          id,
          get body() {
            return outgoingEvent(id, event, one.timestampMs, dataOf(one, link)).body;
          },
        };
      });
      return { ...missing, events: outgoing };
    },
  };
}
/** Builds request bodies, see {@link createEventBodies}. */
export type EventBodies = ReturnType<typeof createEventBodies>;
