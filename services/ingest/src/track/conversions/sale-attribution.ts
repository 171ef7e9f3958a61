import type { CustomerRecord, LinkRecord } from '@waymark/catalog';
import { ApiError, type TrackSaleBody } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import type { QueuedRow, StateValue } from '@waymark/event-queue';
import type { TrackDeps } from '../track-deps.js';
import type { ClickFinder } from './click-finder.js';
import { findClickAndLink, linkOfClick } from './click-link.js';
import { newCustomer, type TrackedCustomers } from './customers.js';
import type { LatestLeads } from './latest-leads.js';
import { leadRows } from './lead-rows.js';

const DIRECT_LEAD_NAME = 'Direct sale tracking lead event';

/** The customer, click and link that a sale is attributed to. */
export interface Attribution {
  readonly customer: CustomerRecord;
  readonly click: EventRow;
  readonly link: LinkRecord;
  /** Rows that a direct sale records before its own: a customer and a lead. */
  readonly rows: readonly QueuedRow[];
  readonly state: readonly StateValue[];
  readonly isNewCustomer: boolean;
}

export interface SaleAttributionDeps {
  readonly deps: Pick<TrackDeps, 'catalog' | 'now'>;
  readonly customers: Pick<TrackedCustomers, 'draft'>;
  readonly clicks: ClickFinder;
  readonly leads: LatestLeads;
}

export interface SaleAttribution {
  /**
   * To the click of the customer's latest lead.
   *
   * @param recentLead what `LatestLeads.readRecent` found
   * @throws ApiError not_found without such a lead, or without its link
   */
  ofKnown(customer: CustomerRecord, body: TrackSaleBody, recentLead: Promise<string | undefined>): Promise<Attribution>;
  /** Direct sale tracking: creates the customer from the click, and records a lead first. @throws ApiError not_found */
  ofNew(workspaceId: string, body: TrackSaleBody, clickId: string): Promise<Attribution>;
}

export function createSaleAttribution({ deps, customers, clicks, leads }: SaleAttributionDeps): SaleAttribution {
  const { catalog, now } = deps;
  return {
    async ofKnown(customer, body, recentLead) {
      const leadName = body.leadEventName || undefined;
      const click = await leads.find(customer, leadName, recentLead);
      if (click === undefined) {
        const which = leadName === undefined ? 'lead' : `lead "${leadName}"`;
        throw new ApiError('not_found', `No ${which} found for the customer "${customer.externalId}".`);
      }
      const link = await linkOfClick(catalog, customer.workspaceId, click);
      return { customer, click, link, rows: [], state: [], isNewCustomer: false };
    },

    async ofNew(workspaceId, body, clickId) {
      const { click, link } = await findClickAndLink(catalog, clicks, workspaceId, clickId);
      const customer = customers.draft(workspaceId, body, click, link);
      const eventName = body.leadEventName || DIRECT_LEAD_NAME;
      const lead = { click, customerId: customer.id, eventName, metadata: body.metadata ?? null, quantity: 1 };
      const { row, state } = newCustomer(customer);
      return {
        customer,
        click,
        link,
        rows: [row, ...leadRows(lead, now())],
        state: [...state, ...leads.state(customer, eventName, click)],
        isNewCustomer: true,
      };
    },
  };
}
