import { environmentWith } from '@waymark/config';

/**
 * Servers that the tests use instead of starting their own: how the same tests run against the images of production
 * (test/stores). Tests that kill a server start their own all the same.
 */
export function givenServers(): { readonly clickhouseUrl: string | undefined; readonly redisUrl: string | undefined } {
  const environment = environmentWith({});
  return {
    clickhouseUrl: environment.WAYMARK_TEST_CLICKHOUSE_URL,
    redisUrl: environment.WAYMARK_TEST_REDIS_URL,
  };
}
