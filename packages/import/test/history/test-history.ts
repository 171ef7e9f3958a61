import type { WorkspaceRecord } from '@waymark/catalog';
import { type ImportSource, parseResourceId } from '@waymark/contract';
import { createOutbound } from '@waymark/outbound';
import {
  type ApiSourceOptions,
  type EventCounts,
  type EventImportOptions,
  type HistorySource,
  importEvents,
  importLinks,
  openApi,
  openApiHistory,
  parseDomainMap,
  type Rejection,
} from '../../src/index.js';
import { startImports, type TestImport } from '../run/test-import.js';

export type Workspace = WorkspaceRecord & { readonly host: string };

/** Imports of links and events on real stores. */
export interface TestHistory extends TestImport {
  readonly waits: number[];
  /** Imports an API: its links, then its events, which `options` may change. */
  api(
    workspace: Workspace,
    source: ImportSource,
    address: string,
    options?: Partial<EventImportOptions>,
  ): Promise<Imported>;
  events(workspace: Workspace, history: HistorySource, options?: Partial<EventImportOptions>): Promise<Imported>;
  /** Rows of a workspace in a table, as objects. */
  rows(workspace: Workspace, table: string): Promise<Record<string, unknown>[]>;
}

export type Imported = EventCounts & { readonly rejections: Rejection[] };

export async function startHistory(): Promise<TestHistory> {
  const imports = await startImports();
  const { catalog, database } = imports;
  const outbound = createOutbound({ allowedRanges: ['127.0.0.1'] });
  const waits: number[] = [];
  const deps = { catalog, defaultDomain: undefined, now: Date.now };
  const silent = () => undefined;

  const events: TestHistory['events'] = async (workspace, history, options = {}) => {
    const rejections: Rejection[] = [];
    const counts = await importEvents(history, {
      ...{ deps, workspace, source: 'dub', domains: parseDomainMap([workspace.host]), isDry: false },
      ...{ retentionDays: undefined, logger: { debug: silent, info: silent, warn: silent, error: silent } },
      stores: { queues: [imports.redis], clickhouse: database.client, leaseMs: 500 },
      report: {
        ...{ continued: async () => undefined, save: async () => undefined, progress: silent },
        rejected: async (rejection) => void rejections.push(rejection),
      },
      ...options,
    });
    return { ...counts, rejections };
  };

  return {
    ...imports,
    waits,
    events,
    async api(workspace, source, address, options = {}) {
      const api: ApiSourceOptions = {
        ...{ source, address, credential: 'key', readsCounts: false, outbound, now: Date.now },
        wait: async (ms) => void waits.push(ms),
      };
      const { rows, mapRecord } = await openApi(api);
      await importLinks(rows, {
        ...{ deps, author: { workspace, apiKey: { role: 'owner', scopes: [], userId: null } }, source, mapRecord },
        ...{ mapping: { timezone: 'UTC' }, domains: parseDomainMap([workspace.host]), tags: [], history: 'events' },
        ...{ onConflict: 'skip', isDry: options.isDry === true },
        report: { rejected: async () => undefined, lost: async () => undefined, progress: silent },
      });
      return events(workspace, openApiHistory(api), { source, ...options });
    },
    async rows({ id }, table) {
      const answer = await database.client.query({
        query: `SELECT * FROM ${table} WHERE workspace_id = {id:UInt64}`,
        query_params: { id: numberOf(id) },
        format: 'JSONEachRow',
      });
      return answer.json();
    },
    async close() {
      outbound.close();
      await imports.close();
    },
  };
}

const numberOf = (id: string) => parseResourceId('workspace', id) ?? '0';
