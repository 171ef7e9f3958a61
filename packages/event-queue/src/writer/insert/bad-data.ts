import { isInfrastructureError } from '@waymark/clickhouse';

/** Whether ClickHouse has refused the rows. Other errors, such as a bug of this program, are no refusal: the jobs stay in the queue. */
export function isBadData(err: unknown): boolean {
  return !isInfrastructureError(err) && err instanceof Error && 'code' in err;
}
