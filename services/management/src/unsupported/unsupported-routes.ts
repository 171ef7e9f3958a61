import { ApiError } from '@waymark/contract';
import type { App } from '@waymark/http-kit';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Routes of features that Waymark does not have. They answer 404, an error for which the SDK has a type. */
const ROUTES: readonly (readonly [Method, string])[] = [
  ['GET', '/commissions'],
  ['POST', '/commissions'],
  ['PATCH', '/commissions/bulk'],
  ['PATCH', '/commissions/:id'],
  ['GET', '/payouts'],
  ['GET', '/discount-codes'],
  ['POST', '/discount-codes'],
  ['DELETE', '/discount-codes/:idOrCode'],
  ['GET', '/bounties/:bountyId/submissions'],
  ['POST', '/bounties/:bountyId/submissions/:submissionId/approve'],
  ['POST', '/bounties/:bountyId/submissions/:submissionId/reject'],
  ['POST', '/tokens/embed/referrals'],
];

/** Commissions, payouts, discount codes, bounties and embed tokens: 404 for every key. */
export async function unsupportedRoutes(app: App): Promise<void> {
  const onRequest = app.authenticate({});
  for (const [method, url] of ROUTES) {
    app.route({
      method,
      url,
      onRequest,
      schema: { hide: true },
      handler: () => {
        throw new ApiError('not_found', 'Program not found.');
      },
    });
  }
}
