import { answerWithin } from '@waymark/cache';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

/** Checks by name. If one rejects or takes longer than two seconds, the process is not ready. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>;

const CHECK_TIMEOUT_MS = 2000;

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes `/readyz` answer 503, so that load balancers stop sending requests. Closing the app does the same. */
    markNotReady(): void;
  }
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

async function runChecks(app: FastifyInstance, checks: ReadinessChecks): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await answerWithin(check(), CHECK_TIMEOUT_MS);
        return [name, 'ok'] as const;
      } catch (err) {
        app.log.warn({ err, check: name }, 'not ready');
        return [name, 'failed'] as const;
      }
    }),
  );
  return { ready: results.every(([, state]) => state === 'ok'), checks: Object.fromEntries(results) };
}

interface HealthOptions {
  readonly checks: ReadinessChecks;
  /** Whether to serve the two routes. Not on the link port. */
  readonly routes: boolean;
}

/** `/healthz`: the process is alive. `/readyz`: it can serve requests. Probes expect 503, although the API itself never uses it. */
export const healthPlugin = fp<HealthOptions>(
  async (app, { checks, routes }) => {
    let isStopping = false;
    // The route is public, so concurrent requests share one run of the checks.
    let running: Promise<Readiness> | undefined;

    app.decorate('markNotReady', () => {
      isStopping = true;
    });
    app.addHook('preClose', async () => {
      isStopping = true;
    });
    if (!routes) return;

    app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));
    app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
      if (isStopping) return reply.code(503).send({ status: 'stopping' });
      running ??= runChecks(app, checks).finally(() => {
        running = undefined;
      });
      const { ready, checks: states } = await running;
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks: states });
    });
  },
  { name: 'health' },
);
