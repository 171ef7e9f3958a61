import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape } from '../values/paging.js';

/**
 * `anonymise` removes a person's data from events and keeps them in all counts; `delete` removes the events, from counts and totals as
 * well.
 */
export const ERASURE_MODES = ['anonymise', 'delete'] as const;
export type ErasureMode = (typeof ERASURE_MODES)[number];

/** `accepted`: waits for its batch; `processing`: its batch has begun; `erased`: no file of the database contains the data any more. */
export const ERASURE_STATUSES = ['accepted', 'processing', 'erased'] as const;

/** Values that `delete` does not change, because a maximum cannot be recomputed after an event is removed. */
export const ERASURE_KEPT = ['link.lastClicked'] as const;

/** Body of `POST /customers/{id}/erasure`. */
export const createErasureBodySchema = z.strictObject({
  mode: z
    .enum(ERASURE_MODES)
    .optional()
    .describe('`anonymise`, the default, keeps counts and revenue; `delete` takes the events out of them, too.'),
});

/** The erasure object of every response (docs/reference/erasure.md). Of the person it contains only ids that Waymark has created. */
export const erasureSchema = z.strictObject({
  id: z.string().describe('Id of the erasure.'),
  mode: z.enum(ERASURE_MODES).describe('What happens to the person’s events.'),
  status: z
    .enum(ERASURE_STATUSES)
    .describe(
      '`accepted` waits for the next batch, `processing` is in one, `erased` means that no file of the database has the data any more.',
    ),
  customerIds: z.array(z.string()).describe('Ids of the customers with the person’s external id.'),
  events: z.number().describe('Number of leads and sales that were found.'),
  clicks: z.number().describe('Number of clicks that were found.'),
  kept: z.array(z.enum(ERASURE_KEPT)).describe('Values that still include the deleted events.'),
  createdAt: z.string().describe('When the erasure was requested.'),
  startedAt: z.string().nullable().describe('When its batch began.'),
  erasedAt: z.string().nullable().describe('When it was complete.'),
});
export type Erasure = z.infer<typeof erasureSchema>;

/** Query of `GET /erasures`, newest first. */
export const listErasuresQuerySchema = closedQuery(pageShape());
