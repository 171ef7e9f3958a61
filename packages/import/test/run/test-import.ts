import { randomUUID } from 'node:crypto';
import { type Catalog, createCatalog, type WorkspaceRecord } from '@waymark/catalog';
import type { Plan } from '@waymark/contract';
import { createTestDatabase, startRedis, type TestDatabase } from '@waymark/test-kit';
import { Redis } from 'ioredis';
import {
  type ImportCounts,
  type ImportOptions,
  importLinks,
  type Loss,
  type OpenSource,
  openFile,
  parseDomainMap,
  type Rejection,
} from '../../src/index.js';

type Options = Partial<Omit<ImportOptions, 'domains'>> & { readonly domains?: readonly string[] };
type Result = ImportCounts & { readonly rejections: Rejection[]; readonly losses: Loss[] };

/** Real stores with a catalog, and imports of tables into their workspaces. */
export interface TestImport {
  readonly catalog: Catalog;
  readonly database: TestDatabase;
  readonly redis: Redis;
  /** The catalog of another process. */
  otherCatalog(): Catalog;
  workspace(plan?: Plan): Promise<WorkspaceRecord & { readonly host: string }>;
  /** Imports the links of a source. @returns what was reported */
  run(workspace: WorkspaceRecord, source: OpenSource, options?: Options): Promise<Result>;
  /** Imports a table. */
  table(workspace: WorkspaceRecord, content: string, options?: Options): Promise<Result>;
  close(): Promise<void>;
}

export async function startImports(): Promise<TestImport> {
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const clients: Redis[] = [];
  const catalogs: Catalog[] = [];
  function otherCatalog(): Catalog {
    const connection = new Redis(redis.url);
    const catalog = createCatalog({
      ...{ redis: connection, clickhouse: database.client, instanceKey: Buffer.alloc(32, 1), now: Date.now },
      ...{ logger: { warn: () => undefined }, baseUrl: 'https://api.example.com' },
    });
    clients.push(connection);
    catalogs.push(catalog);
    return catalog;
  }
  const client = new Redis(redis.url);
  clients.push(client);
  const catalog = otherCatalog();
  const run: TestImport['run'] = async (workspace, { rows, mapRecord }, { domains = [], ...options } = {}) => {
    const rejections: Rejection[] = [];
    const losses: Loss[] = [];
    const counts = await importLinks(rows, {
      deps: { catalog, defaultDomain: undefined, now: Date.now },
      author: { workspace, apiKey: { role: 'owner', scopes: [], userId: null } },
      ...{ source: 'csv', mapRecord, mapping: {}, domains: parseDomainMap(domains), tags: [] },
      ...{ history: 'none', onConflict: 'skip', isDry: false },
      report: {
        rejected: async (rejection) => void rejections.push(rejection),
        lost: async (loss) => void losses.push(loss),
        progress: () => undefined,
      },
      ...options,
    });
    return { ...counts, rejections, losses };
  };
  return {
    catalog,
    run,
    otherCatalog,
    database,
    redis: client,
    async workspace(plan = 'enterprise') {
      const mark = randomUUID().slice(0, 8);
      const host = `go.${mark}.example`;
      const { workspace } = await catalog.workspaces.create({ name: 'Acme', slug: `acme-${mark}`, plan, domain: host });
      return { ...workspace, host };
    },
    table(workspace, content, options) {
      async function* chunks() {
        yield Buffer.from(content);
      }
      return run(workspace, openFile('csv', 'csv', chunks()), options);
    },
    async close() {
      await Promise.all(catalogs.map((one) => one.close()));
      for (const connection of clients) connection.disconnect();
      await Promise.all([redis.stop(), database.drop()]);
    },
  };
}
