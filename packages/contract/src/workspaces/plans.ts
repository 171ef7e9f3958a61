import { z } from 'zod';

/** Plans from the smallest to the largest. */
export const PLANS = ['free', 'pro', 'business', 'advanced', 'enterprise'] as const;
export const planSchema = z.enum(PLANS);
export type Plan = (typeof PLANS)[number];

/** Quotas of a workspace. The plan has the defaults, and an operator can override each. `null` means unlimited. */
export const quotasSchema = z.strictObject({
  linksPerMonth: z.int().min(0).nullable(),
  eventsPerMonth: z.int().min(0).nullable(),
  domains: z.int().min(0).nullable(),
  tags: z.int().min(0).nullable(),
  folders: z.int().min(0).nullable(),
  partners: z.int().min(0).nullable(),
  partnerTags: z.int().min(0).nullable(),
  partnerGroups: z.int().min(0).nullable(),
});
export type Quotas = z.infer<typeof quotasSchema>;

/** Request rates and quotas of a plan. */
export interface PlanLimits {
  readonly requestsPerMinute: number;
  /** 0 = no access to the analytics endpoints. */
  readonly analyticsPerSecond: number;
  readonly quotas: Quotas;
}

/** The limits of each plan (docs/reference/plans.md). */
export const PLAN_LIMITS: Readonly<Record<Plan, PlanLimits>> = {
  free: {
    requestsPerMinute: 60,
    analyticsPerSecond: 0,
    quotas: {
      linksPerMonth: 25,
      eventsPerMonth: 1000,
      domains: 3,
      tags: 5,
      folders: 0,
      partners: 0,
      partnerTags: 0,
      partnerGroups: 0,
    },
  },
  pro: {
    requestsPerMinute: 600,
    analyticsPerSecond: 2,
    quotas: {
      linksPerMonth: 1000,
      eventsPerMonth: 50_000,
      domains: 10,
      tags: 25,
      folders: 3,
      partners: 0,
      partnerTags: 0,
      partnerGroups: 0,
    },
  },
  business: {
    requestsPerMinute: 1200,
    analyticsPerSecond: 4,
    quotas: {
      linksPerMonth: 10_000,
      eventsPerMonth: 250_000,
      domains: 100,
      tags: null,
      folders: 20,
      partners: 500,
      partnerTags: 10,
      partnerGroups: 3,
    },
  },
  advanced: {
    requestsPerMinute: 3000,
    analyticsPerSecond: 8,
    quotas: {
      linksPerMonth: 50_000,
      eventsPerMonth: 1_000_000,
      domains: 250,
      tags: null,
      folders: 50,
      partners: null,
      partnerTags: null,
      partnerGroups: null,
    },
  },
  enterprise: {
    requestsPerMinute: 3000,
    analyticsPerSecond: 16,
    quotas: {
      linksPerMonth: null,
      eventsPerMonth: 5_000_000,
      domains: 250,
      tags: null,
      folders: null,
      partners: null,
      partnerTags: null,
      partnerGroups: null,
    },
  },
};

/** Whether `plan` is `minimum` or above. */
export function planAtLeast(plan: Plan, minimum: Plan): boolean {
  return PLANS.indexOf(plan) >= PLANS.indexOf(minimum);
}
