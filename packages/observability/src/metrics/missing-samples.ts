import { refusalCode } from '@waymark/clickhouse';
import type { MetricsLogger } from './metrics-logger.js';

/** Says in the log why samples of ClickHouse are missing. */
export interface MissingSamples {
  /**
   * The sample, or undefined if it could not be taken. That ClickHouse refuses it is a warning, one for all refusals in a row with the same
   * code, because the metrics and their alerts are missing until somebody changes that.
   *
   * @param what the metrics that are read with it
   */
  orNone<Sample>(what: string, sample: Promise<Sample>): Promise<Sample | undefined>;
}

export function createMissingSamples(logger: MetricsLogger): MissingSamples {
  const warned = new Map<string, string>();
  return {
    async orNone(what, sample) {
      try {
        const taken = await sample;
        warned.delete(what);
        return taken;
      } catch (err) {
        const code = refusalCode(err);
        if (code === undefined) logger.debug({ err }, `the metrics of ${what} are missing`);
        else if (warned.get(what) !== code) {
          warned.set(what, code);
          logger.warn(
            { err },
            `ClickHouse refuses the query for the metrics of ${what}: they and their alerts are missing. docs/production.md lists the rights of its user`,
          );
        }
        return undefined;
      }
    },
  };
}
