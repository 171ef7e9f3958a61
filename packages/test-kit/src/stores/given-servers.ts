import { environmentWith } from '@waymark/config';

/**
 * URLs of external servers that the tests use instead of starting their own, so that they run against the images of production
 * (test/stores). Tests that kill a server start one of their own nevertheless.
 */
export function givenServers(): { readonly clickhouseUrl: string | undefined; readonly redisUrl: string | undefined } {
  const environment = environmentWith({});
  return {
    clickhouseUrl: environment.WAYMARK_TEST_CLICKHOUSE_URL,
    redisUrl: environment.WAYMARK_TEST_REDIS_URL,
  };
}
