export { startClickHouse, type TestClickHouse, type TestClickHouseOptions } from './clickhouse.js';
export { aClick, aLead, aSale, BUILDER_TIME_MS } from './event-builders.js';
export { freePort } from './free-port.js';
export { insertClicks, insertLeads, insertSales } from './insert-events.js';
export { elapsedMs, leastOf } from './least-of.js';
export { addPendingCustomer, writePendingCustomer } from './pending-customers.js';
export {
  aCustomerRecord,
  aDomainRecord,
  aLinkRecord,
  anApiKeyRecord,
  aWorkspaceRecord,
  BUILDER_WORKSPACE_ID,
} from './records.js';
export { startRedis, type TestRedisOptions } from './redis.js';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
export { temporaryDirectory } from './temporary-directory.js';
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './test-database.js';
export type { TestRedis } from './test-redis.js';
export { type WaitOptions, waitFor } from './wait-for.js';
