import { z } from 'zod';

/** The domain object of every response (spec 5.1). */
export const domainSchema = z.strictObject({
  id: z.string(),
  slug: z.string(),
  verified: z.boolean(),
  primary: z.boolean(),
  archived: z.boolean(),
  placeholder: z.string().nullable(),
  expiredUrl: z.string().nullable(),
  notFoundUrl: z.string().nullable(),
  logo: z.string().nullable(),
  assetLinks: z.string().nullable(),
  appleAppSiteAssociation: z.string().nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
  registeredDomain: z
    .strictObject({
      id: z.string(),
      autoRenewalDisabledAt: z.string().nullable(),
      createdAt: z.string(),
      expiresAt: z.string(),
      renewalFee: z.number(),
    })
    .nullable(),
});
export type Domain = z.infer<typeof domainSchema>;
