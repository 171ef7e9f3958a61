import { isInfrastructureError, refusalCode } from '@waymark/clickhouse';
import type { MetricsLogger } from './metrics-logger.js';

/** Logs why samples of ClickHouse are missing. */
export interface MissingSamples {
  /**
   * The sample, or undefined if it could not be taken. A refusal by ClickHouse is logged as a warning, because the metrics and their alerts
   * are missing until an operator acts: once for all refusals with the same code that are less than an hour apart.
   *
   * @param what the metrics that are read with it
   */
  orNone<Sample>(what: string, sample: Promise<Sample>): Promise<Sample | undefined>;
}

const APART_MS = 60 * 60_000;

/** @param now epoch milliseconds */
export function createMissingSamples(logger: MetricsLogger, now: () => number = Date.now): MissingSamples {
  const refusals = new Map<string, { readonly code: string; readonly at: number }>();
  return {
    async orNone(what, sample) {
      try {
        return await sample;
      } catch (err) {
        const code = refusalCode(err);
        if (code === undefined) {
          logger.debug({ err }, `the metrics of ${what} are missing`);
          return undefined;
        }
        const last = refusals.get(what);
        refusals.set(what, { code, at: now() });
        if (last?.code !== code || now() - last.at > APART_MS) {
          // Of the refusals, those of credentials and rights count as errors of the infrastructure.
          const hint = isInfrastructureError(err) ? '. docs/production.md lists the rights of its user' : '';
          logger.warn(
            { err },
            `ClickHouse refuses the query for the metrics of ${what}: they and their alerts are missing${hint}`,
          );
        }
        return undefined;
      }
    },
  };
}
