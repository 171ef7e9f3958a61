import { answerWithin } from '@waymark/cache';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

/** Checks by name. If one rejects or takes longer than two seconds, the process is not ready. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>;

const CHECK_TIMEOUT_MS = 2000;

/** How long a result is reused. Probes are less frequent, but anybody can send thousands of requests a second. */
const KEPT_MS = 1000;

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

/** `/healthz`: the process is alive. `/readyz`: it can serve requests. Probes expect 503, although the API itself never uses it. */
export const healthPlugin = fp<{ readonly checks: ReadinessChecks }>(
  async (app, { checks }) => {
    let isStopping = false;
    // The route is public: requests share one run of the checks, which costs each store a command and may log each failure.
    let shared: Promise<Readiness> | undefined;
    let keptUntilMs = Number.POSITIVE_INFINITY;

    function readiness(): Promise<Readiness> {
      if (shared !== undefined && performance.now() < keptUntilMs) return shared;
      keptUntilMs = Number.POSITIVE_INFINITY;
      shared = runChecks(app, checks).finally(() => {
        keptUntilMs = performance.now() + KEPT_MS;
      });
      return shared;
    }

    // Load balancers stop sending requests while open connections are still served.
    app.addHook('preClose', async () => {
      isStopping = true;
    });

    app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));
    app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
      if (isStopping) return reply.code(503).send({ status: 'stopping' });
      const { ready, checks: states } = await readiness();
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', checks: states });
    });
  },
  { name: 'health' },
);
