import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddedUrl, newEmbeddedPassword } from '@waymark/clickhouse-embedded';
import type { TestProject } from 'vitest/node';
import { freePort } from '../free-port.js';
import { startClickHouse } from '../stores/clickhouse.js';
import { givenServers } from '../stores/given-servers.js';

/** Starts the ClickHouse of a test run in the background, so that tests without ClickHouse need not wait. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const keptDatabases = mkdtempSync(join(tmpdir(), 'waymark-databases-'));
  project.provide('keptDatabases', keptDatabases);
  const removeList = () => rmSync(keptDatabases, { recursive: true });
  const { clickhouseUrl } = givenServers();
  if (clickhouseUrl !== undefined) {
    project.provide('sharedClickHouseUrl', clickhouseUrl);
    return async () => removeList();
  }
  const port = await freePort();
  const password = newEmbeddedPassword();
  project.provide('sharedClickHouseUrl', embeddedUrl(port, password));
  const starting = startClickHouse({ port, password });
  starting.catch((err: unknown) => console.error('the ClickHouse of the test run did not start:', err));
  return async () => {
    const server = await starting.catch(() => undefined);
    // Its tables are not needed again, and a stop, which writes the last parts of thousands of them, took up to a minute.
    await server?.kill9();
    await server?.stop();
    removeList();
  };
}
