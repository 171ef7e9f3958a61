import { formatResourceId } from '@waymark/contract';
import type { EventRow } from '@waymark/event-format';
import { customerClaim, setSeen } from '@waymark/event-queue';
import type { GroupCommit } from '../clickhouse/group-commit.js';
import type { RedisConnections } from '../redis/connections.js';

const CUSTOMER = 'customer';

/** Claims of the customers among rows of `names`: kind, scope (the number of the workspace), name, … */
function customerClaims(rows: readonly EventRow[]): string[] {
  return rows.flatMap(([kind, scope, name]) =>
    kind === CUSTOMER ? [customerClaim(formatResourceId('workspace', String(scope)), String(name))] : [],
  );
}

/**
 * Inserts into `names` that first set the names of customers in the claim history of their workspace: `/track` takes an external id
 * that the history does not have for a new customer, without asking ClickHouse.
 */
export function withCustomerHistory(commitNames: GroupCommit, redis: RedisConnections): GroupCommit {
  return {
    ...commitNames,
    async add(rows, notAfterMs) {
      const claims = customerClaims(rows);
      if (claims.length > 0) await redis.run((client) => setSeen(client, claims));
      await commitNames.add(rows, notAfterMs);
    },
  };
}
