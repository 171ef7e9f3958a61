import { type ApiKeyRecord, isExpired, type KeyCaller, type WorkspaceRecord, workspaceLimits } from '@waymark/catalog';
import { ApiError, hasPermission, PLAN_LIMITS, planAtLeast } from '@waymark/contract';
import type { RateLimiter } from '@waymark/rate-limit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { applyRateLimit, type RateLimit } from '../requests/rate-limit.js';
import { type RouteRequirements, registerRequirements } from './route-requirements.js';

/** The part of the catalog that authentication uses. */
export interface KeyCatalog {
  readonly keys: {
    /** Looks up a key; undefined = there is none, or its user was deleted. `workspace` is undefined when the workspace was deleted. */
    authenticate(
      token: string,
    ): Promise<{ readonly key: ApiKeyRecord; readonly workspace: WorkspaceRecord | undefined } | undefined>;
  };
}

export interface AuthPluginOptions {
  readonly catalog: KeyCatalog;
  readonly rateLimiter: RateLimiter;
  readonly now?: () => number;
}

/** A hook for `onRequest`: it runs before the body is read and the input validated. */
export type AuthenticateHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

declare module 'fastify' {
  interface FastifyInstance {
    /** The `onRequest` hook of a route that needs an API key. */
    authenticate(requirements: RouteRequirements): AuthenticateHook;
    /**
     * Checks the key of a request again, for responses that may last longer than the key is valid. Counts against no rate limit.
     *
     * @throws ApiError when a new request with this key would be refused
     */
    reauthenticate(request: FastifyRequest, requirements: RouteRequirements): Promise<KeyCaller>;
  }
  interface FastifyRequest {
    /** The workspace of the API key. Only set on routes with `authenticate`. */
    workspace: WorkspaceRecord;
    /** The API key of the request. Only set on routes with `authenticate`. */
    apiKey: ApiKeyRecord;
  }
}

/** More than any key or access token has, so that anonymous callers cannot make the server hash a header of 100 kB. */
const TOKEN_CHARS_MAX = 512;

/** For each kind of key: its name and form in messages, and the pattern of the header `Authorization`, whose group is the token. */
const KINDS = {
  secret: { name: 'API key', form: 'Bearer <API key>', header: /^Bearer (.*)$/ },
  publishable: { name: 'publishable key', form: 'Bearer dub_pk_…', header: /^Bearer (dub_pk_[A-Za-z0-9_-]{16,64})$/ },
} as const;
const PUBLISHABLE_LIMIT: RateLimit = { bucket: 'publishable', limit: 600, windowSeconds: 60 };

/** The token in the header `Authorization`. @throws ApiError 401 for any other header than that of the kind */
function bearerToken(value: string | undefined, { name, form, header }: (typeof KINDS)[keyof typeof KINDS]): string {
  if (value === undefined || value === '') throw new ApiError('unauthorized', 'Missing Authorization header.');
  const token = header.exec(value)?.[1]?.trim();
  if (token === undefined) {
    throw new ApiError('unauthorized', `The Authorization header must have the form "${form}".`);
  }
  if (token === '' || token.length > TOKEN_CHARS_MAX) throw new ApiError('unauthorized', `Invalid ${name}.`);
  return token;
}

/**
 * The rate limit that applies to a call; undefined = the plan has no access to analytics, so that {@link checkAuthorization} refuses the
 * call with 403. A key whose workspace was deleted has the limit of the smallest plan.
 */
function rateLimitOf(workspace: WorkspaceRecord | undefined, bucket: 'standard' | 'analytics'): RateLimit | undefined {
  const limits = workspace === undefined ? PLAN_LIMITS.free : workspaceLimits(workspace);
  if (bucket === 'standard' || workspace === undefined) {
    return { bucket: 'standard', limit: limits.requestsPerMinute, windowSeconds: 60 };
  }
  const limit = limits.analyticsPerSecond;
  return limit === 0 ? undefined : { bucket, limit, windowSeconds: 1 };
}

/** Checks what a key may do, and what its workspace's plan includes. @throws ApiError 403 */
export function checkAuthorization(
  key: ApiKeyRecord,
  workspace: WorkspaceRecord,
  requirements: RouteRequirements,
): void {
  const { permission, roles, minimumPlan, bucket } = requirements;
  if (permission !== undefined && !hasPermission(key.role, key.scopes, permission)) {
    throw new ApiError('forbidden', `The API key lacks the permission "${permission}" that this endpoint needs.`);
  }
  if (roles !== undefined && !roles.includes(key.role)) {
    throw new ApiError('forbidden', `This endpoint needs the role ${roles.join(' or ')}.`);
  }
  if (minimumPlan !== undefined && !planAtLeast(workspace.plan, minimumPlan)) {
    throw new ApiError('forbidden', `This endpoint needs the plan ${minimumPlan} or higher.`);
  }
  if (bucket === 'analytics' && rateLimitOf(workspace, bucket) === undefined) {
    throw new ApiError('forbidden', 'The plan of this workspace has no access to analytics.');
  }
}

/** Adds `app.authenticate`, which checks key, rate limit, workspace, permission, role and plan, in this order. */
export const authPlugin = fp<AuthPluginOptions>(
  async (app, { catalog, rateLimiter, now = Date.now }) => {
    app.decorateRequest('workspace', null as unknown as WorkspaceRecord);
    app.decorateRequest('apiKey', null as unknown as ApiKeyRecord);

    const findKey = async (request: FastifyRequest, { keyKind = 'secret' }: RouteRequirements) => {
      const kind = KINDS[keyKind];
      const found = await catalog.keys.authenticate(bearerToken(request.headers.authorization, kind));
      if (found?.key.kind !== keyKind) throw new ApiError('unauthorized', `Invalid ${kind.name}.`);
      if (isExpired(found.key, now())) throw new ApiError('unauthorized', `The ${kind.name} has expired.`);
      return found;
    };
    const authorized = (found: Awaited<ReturnType<typeof findKey>>, requirements: RouteRequirements): KeyCaller => {
      const { key: apiKey, workspace } = found;
      if (workspace === undefined)
        throw new ApiError('not_found', `The workspace of this ${KINDS[apiKey.kind].name} was not found.`);
      checkAuthorization(apiKey, workspace, requirements);
      return { apiKey, workspace };
    };

    app.decorate('reauthenticate', async (request: FastifyRequest, requirements: RouteRequirements) =>
      authorized(await findKey(request, requirements), requirements),
    );

    app.decorate('authenticate', (requirements: RouteRequirements): AuthenticateHook => {
      const bucket = requirements.bucket ?? 'standard';
      const hook: AuthenticateHook = async (request, reply) => {
        const found = await findKey(request, requirements);
        const { key, workspace } = found;
        const isSecret = key.kind === 'secret';
        if (isSecret) request.callerPlan = workspace?.plan ?? '';
        const limit = isSecret ? rateLimitOf(workspace, bucket) : PUBLISHABLE_LIMIT;
        await applyRateLimit(rateLimiter, key.keyHash, limit, reply, now);
        Object.assign(request, authorized(found, requirements));
      };
      registerRequirements(hook, requirements);
      return hook;
    });
  },
  { name: 'auth' },
);
