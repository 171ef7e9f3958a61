import { z } from 'zod';
import { closedQuery } from '../values/closed-query.js';
import { pageShape } from '../values/paging.js';

/** `anonymise` keeps what was counted; `delete` also takes the person's events out of counts and totals. */
export const ERASURE_MODES = ['anonymise', 'delete'] as const;
export type ErasureMode = (typeof ERASURE_MODES)[number];

/** `accepted`: waits for its batch; `processing`: its batch has begun; `erased`: no file of the database holds the texts any more. */
export const ERASURE_STATUSES = ['accepted', 'processing', 'erased'] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

/** Values that are a maximum, from which an event cannot be taken out: `delete` leaves them. */
export const ERASURE_KEPT = ['link.lastClicked'] as const;

/** Body of `POST /customers/{id}/erasure`. */
export const createErasureBodySchema = z.strictObject({
  mode: z
    .enum(ERASURE_MODES)
    .optional()
    .describe('`anonymise`, the default, keeps counts and revenue; `delete` takes the events out of them, too.'),
});
export type CreateErasureBody = z.infer<typeof createErasureBodySchema>;

/** An erasure, as every response shows it. It has no data of the person but the ids that Waymark gave. */
export const erasureSchema = z.strictObject({
  id: z.string(),
  mode: z.enum(ERASURE_MODES),
  status: z.enum(ERASURE_STATUSES),
  /** The customers that the person was; empty while no customer had the external id. */
  customerIds: z.array(z.string()),
  /** Leads and sales that the batch found. */
  events: z.number(),
  /** Clicks behind them that the batch found. */
  clicks: z.number(),
  /** Values that still include what `delete` has taken out of everything else. */
  kept: z.array(z.enum(ERASURE_KEPT)),
  createdAt: z.string(),
  startedAt: z.string().nullable(),
  erasedAt: z.string().nullable(),
});
export type Erasure = z.infer<typeof erasureSchema>;

/** Query of `GET /erasures`, newest first. */
export const listErasuresQuerySchema = closedQuery(pageShape());
