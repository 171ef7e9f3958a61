import { ApiError } from '@waymark/contract';
import type { App } from '@waymark/http-kit';

function rejectRequest(): never {
  throw new ApiError('forbidden', 'Domains cannot be registered through this service.');
}

/** `POST /domains/register` and `GET /domains/status`: a self-hosted service has no registrar, so both answer 403. */
export async function registrarRoutes(app: App): Promise<void> {
  app.post(
    '/domains/register',
    {
      onRequest: app.authenticate({ permission: 'domains.write', minimumPlan: 'enterprise' }),
      schema: { hide: true },
    },
    rejectRequest,
  );
  app.get(
    '/domains/status',
    {
      onRequest: app.authenticate({ permission: 'domains.read', minimumPlan: 'enterprise' }),
      schema: { hide: true },
    },
    rejectRequest,
  );
}
