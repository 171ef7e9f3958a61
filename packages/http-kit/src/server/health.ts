import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

/** Named checks; one that rejects, or takes longer than two seconds, makes the process not ready. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>;

const CHECK_TIMEOUT_MS = 2000;

declare module 'fastify' {
  interface FastifyInstance {
    /** From here on `/readyz` answers 503, so that a balancer looks elsewhere. Closing the app does it as well. */
    stopBeingReady(): void;
  }
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

async function withinTimeout(check: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function runChecks(app: FastifyInstance, checks: ReadinessChecks): Promise<Readiness> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await withinTimeout(check);
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
  /** False keeps the two paths free, as on the port of short links. */
  readonly routes: boolean;
}

/** `/healthz`: the process answers. `/readyz`: it can serve. Both are for probes, so 503 is right here. */
export const healthPlugin = fp<HealthOptions>(
  async (app, { checks, routes }) => {
    let isStopping = false;
    // Anyone may ask: requests that come together share one run of the checks.
    let running: Promise<Readiness> | undefined;

    app.decorate('stopBeingReady', () => {
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
