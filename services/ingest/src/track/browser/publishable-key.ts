import type { Catalog } from '@waymark/catalog';
import { ApiError, planAtLeast } from '@waymark/contract';
import { type AuthenticateHook, applyRateLimit, type RouteRequirements, registerRequirements } from '@waymark/http-kit';
import type { RateLimiter } from '@waymark/rate-limit';
import { checkHostname } from './allowed-hostnames.js';

export interface PublishableKeyDeps {
  readonly catalog: Pick<Catalog, 'keys'>;
  readonly rateLimiter: RateLimiter;
  readonly now: () => number;
}

/** Format of a publishable key in the Authorization header. */
const AUTHORIZATION = /^Bearer (dub_pk_[A-Za-z0-9_-]{16,64})$/;
const REQUIREMENTS = { keyKind: 'publishable', minimumPlan: 'business' } as const satisfies RouteRequirements;
const LIMIT = { bucket: 'publishable', limit: 600, windowSeconds: 60 } as const;

/** The `onRequest` hook of the client routes: publishable key, its rate limit, plan and hostname, in this order. */
export function authenticatePublishable({ catalog, rateLimiter, now }: PublishableKeyDeps): AuthenticateHook {
  const hook: AuthenticateHook = async (request, reply) => {
    const { authorization } = request.headers;
    if (!authorization) throw new ApiError('unauthorized', 'Missing Authorization header.');
    const token = AUTHORIZATION.exec(authorization)?.[1];
    if (token === undefined) {
      throw new ApiError('unauthorized', 'The Authorization header must have the form "Bearer dub_pk_…".');
    }
    const found = await catalog.keys.authenticate(token);
    if (found === undefined || found.key.kind !== 'publishable') {
      throw new ApiError('unauthorized', 'Invalid publishable key.');
    }
    const { key, workspace } = found;
    if (key.expiresAt !== null && Date.parse(key.expiresAt) <= now()) {
      throw new ApiError('unauthorized', 'The publishable key has expired.');
    }
    await applyRateLimit(rateLimiter, key.keyHash, LIMIT, reply, now);
    if (workspace === undefined)
      throw new ApiError('not_found', 'The workspace of this publishable key was not found.');
    if (!planAtLeast(workspace.plan, REQUIREMENTS.minimumPlan)) {
      throw new ApiError('forbidden', `This endpoint needs the plan ${REQUIREMENTS.minimumPlan} or higher.`);
    }
    checkHostname(workspace.allowedHostnames, request.headers);
    request.workspace = workspace;
    request.apiKey = key;
  };
  registerRequirements(hook, REQUIREMENTS);
  return hook;
}
