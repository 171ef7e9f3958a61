import { ApiError } from '@waymark/contract';
import type { App } from '@waymark/http-kit';

function refuse(): never {
  throw new ApiError('forbidden', 'Domains cannot be registered through this service.');
}

/** `POST /domains/register` and `GET /domains/status`: there is no registrar behind a self-hosted service. */
export async function registrarRoutes(app: App): Promise<void> {
  app.post(
    '/domains/register',
    {
      onRequest: app.authenticate({ permission: 'domains.write', minimumPlan: 'enterprise' }),
      schema: { hide: true },
    },
    refuse,
  );
  app.get(
    '/domains/status',
    {
      onRequest: app.authenticate({ permission: 'domains.read', minimumPlan: 'enterprise' }),
      schema: { hide: true },
    },
    refuse,
  );
}
