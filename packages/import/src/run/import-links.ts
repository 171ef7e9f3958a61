import { ApiError } from '@waymark/contract';
import type { LinkAuthor, LinkRuleDeps } from '@waymark/link-rules';
import { ImportError } from '../model/import-error.js';
import { type MappingOptions, type MapRecord, RowError, type Source, type SourceRow } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';
import type { DomainMap } from './domain-map.js';
import { type ImportCounts, type ImportPosition, type ImportReport, NO_COUNTS } from './import-report.js';
import { addressKey, type LinkPlan, planLink } from './link-plan.js';
import { createLinkWriter, type OnConflict } from './link-writer.js';
import { createReferencedResources } from './referenced-resources.js';

/** Links of one insert. They are planned and written in one piece, while other requests of the process wait. */
const BATCH_MAX = 100;
/** Characters of their records after which a batch is full, because records of a file may have millions each. */
const BATCH_CHARS_MAX = 8_000_000;
/** Rows after which progress is reported although no batch is full, because most of them are rejected. */
const ROWS_UNSETTLED_MAX = 1000;

export interface ImportOptions {
  readonly deps: LinkRuleDeps;
  readonly author: LinkAuthor;
  readonly source: Source;
  readonly mapRecord: MapRecord;
  readonly mapping: MappingOptions;
  readonly domains: DomainMap;
  /** Names of tags that all links get. */
  readonly tags: readonly string[];
  /** `events` are imported afterwards (`importEvents`), and need no baseline. */
  readonly history: 'none' | 'counts' | 'events';
  readonly onConflict: OnConflict;
  /** Only says what a run would do. */
  readonly isDry: boolean;
  readonly report: ImportReport;
  /** Continues an earlier run, whose rows are not read again. */
  readonly position?: ImportPosition | undefined;
}

/**
 * Makes the links of a source. The links of each batch are looked up by their addresses first, so a second run makes nothing, and one
 * that was killed is run again from the start.
 *
 * @throws ImportError when the source or a conflict ends the import; what was made stays
 */
export async function importLinks(rows: AsyncIterable<SourceRow>, options: ImportOptions): Promise<ImportCounts> {
  const { deps, author, report, isDry, position } = options;
  const resources = createReferencedResources(deps, author, isDry);
  let ownSinceMs = position?.atMs;
  const writer = createLinkWriter({
    ...options,
    plannedDomains: resources.plannedDomains,
    ownSinceMs: () => ownSinceMs,
  });
  const primary = await deps.catalog.domains.primary(author.workspace.id);
  const fallbackDomain = primary?.slug ?? deps.defaultDomain;
  const planOptions = { ...options, resources, fallbackDomain, importedAt: new Date(deps.now()).toISOString() };
  let counts = position?.counts ?? NO_COUNTS;
  let lastRow = position?.row ?? 0;
  const add = (end: keyof ImportCounts) => {
    counts = { ...counts, [end]: counts[end] + 1 };
  };

  async function reject(row: number, record: unknown, reason: string): Promise<void> {
    add('rejected');
    await report.rejected({ row, record, reason });
  }

  /** The plans of a record; none when it is rejected, or each of its links that is. */
  async function plansOf({ row, record, error }: SourceRow): Promise<LinkPlan[]> {
    const plans: LinkPlan[] = [];
    try {
      if (error !== undefined) throw new RowError(error);
      for (const link of options.mapRecord(record, options.mapping))
        plans.push(await planLink({ row, record, link }, planOptions));
    } catch (err) {
      const isOfRow =
        err instanceof RowError || err instanceof ImportError || (err instanceof ApiError && err.status < 500);
      if (!isOfRow) throw err;
      await reject(row, record, err.message);
    }
    return plans;
  }

  let batch = new Map<string, LinkPlan>();
  let batchChars = 0;
  let unsettled = 0;

  async function flush(): Promise<void> {
    const plans = [...batch.values()];
    batch = new Map();
    batchChars = 0;
    if (plans.length > 0) {
      const outcomes = await writer.write(plans);
      for (const [index, plan] of plans.entries()) await account(plan, outcomes[index]);
    }
  }

  /** Ends the batch after a whole row. */
  async function settle(): Promise<void> {
    await flush();
    await report.progress(counts, lastRow);
    ownSinceMs = undefined;
  }

  async function account(plan: LinkPlan, outcome: Awaited<ReturnType<typeof writer.write>>[number] | undefined) {
    if (outcome === undefined) throw new TypeError('a plan without an outcome');
    if (outcome.end === 'rejected') return reject(plan.row, plan.record, outcome.reason);
    add(outcome.end);
    const link = `${plan.domain}/${plan.key}`;
    for (const lost of plan.lost) await report.lost({ row: plan.row, link, ...lost });
    if (outcome.reason !== undefined)
      await report.lost({ row: plan.row, link, field: '', value: '', reason: outcome.reason });
  }

  for await (const sourceRow of rows) {
    if (sourceRow.row <= lastRow) continue;
    add('rows');
    for (const plan of await plansOf(sourceRow)) {
      const address = addressKey(plan);
      // A later row of the same address meets the link that the earlier one made.
      if (batch.has(address)) await flush();
      batch.set(address, plan);
    }
    batchChars += textChars(sourceRow.record);
    lastRow = sourceRow.row;
    unsettled++;
    if (batch.size >= BATCH_MAX || batchChars >= BATCH_CHARS_MAX || unsettled >= ROWS_UNSETTLED_MAX) {
      await settle();
      unsettled = 0;
    }
  }
  await settle();
  return counts;
}
