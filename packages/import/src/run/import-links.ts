import type { ImportSource } from '@waymark/contract';
import type { LinkAuthor, LinkRuleDeps } from '@waymark/link-rules';
import { ImportError } from '../model/import-error.js';
import { isErrorOfRecord } from '../model/record-errors.js';
import { type Lost, type MappingOptions, type MapRecord, RowError, type SourceRow } from '../model/source-link.js';
import { textChars } from '../model/text-chars.js';
import type { DomainMap } from './domain-map.js';
import {
  type ImportCounts,
  type ImportPosition,
  type ImportReport,
  NO_COUNTS,
  type Rejection,
} from './import-report.js';
import { addressKey, type LinkPlan, planLink } from './link-plan.js';
import { createLinkWriter, type OnConflict, type Outcome } from './link-writer.js';
import { createReferencedResources } from './referenced-resources.js';

/** Maximum links of one insert. */
const BATCH_MAX = 100;
/** Characters of records after which a batch is full, because one record of a file may have millions of characters. */
const BATCH_CHARS_MAX = 8_000_000;
/** Progress is reported after this many rows at the latest, also when most of them are rejected and no batch fills up. */
const ROWS_UNSETTLED_MAX = 1000;

interface PlanStep {
  readonly plan: LinkPlan;
  /** The lost values of the record and of its row, in lists that all links of the record share: both may be long. */
  readonly lost: readonly (readonly Lost[])[];
}

/** What a row leads to, in the order of the file: its links, then why a part of it is rejected, then its end. */
type Step = PlanStep | { readonly rejection: Rejection } | { readonly endOfRow: number };

/** Options of an import of links; docs/reference/imports.md describes those that users choose. */
export interface ImportOptions {
  readonly deps: LinkRuleDeps;
  /**
   * The key and its workspace. Both properties are read for each batch: over HTTP they return what the latest check has found, because plan and
   * quotas may change during an import. The command sets them once.
   */
  readonly author: LinkAuthor;
  readonly source: ImportSource;
  readonly mapRecord: MapRecord;
  readonly mapping: MappingOptions;
  readonly domains: DomainMap;
  /** Names of tags that all links get. */
  readonly tags: readonly string[];
  /**
   * `counts`: the counters of the source become the baseline of each link. `events`: no baseline, because `importEvents` runs afterwards.
   */
  readonly history: 'none' | 'counts' | 'events';
  readonly onConflict: OnConflict;
  /** Only reports what a run would do; stores nothing. */
  readonly isDry: boolean;
  readonly report: ImportReport;
  /** Where an earlier run has ended; its rows are skipped. */
  readonly position?: ImportPosition | undefined;
}

/** Passes on the rows up to an error of their source, and calls `onEnd` with it, so that the links before it are created first. */
async function* rowsBeforeError(
  rows: AsyncIterable<SourceRow>,
  onEnd: (err: ImportError) => void,
): AsyncGenerator<SourceRow> {
  try {
    yield* rows;
  } catch (err) {
    if (!(err instanceof ImportError)) throw err;
    onEnd(err);
  }
}

/**
 * Creates the links of a source. Each batch looks up its links by their addresses first, so a second run creates none again, and a killed
 * run can be repeated from the start.
 *
 * @returns the number of links by outcome, those of `position` included
 * @throws ImportError when the source cannot be read, or a link differs with `onConflict: 'fail'`; the links of the rows before are created
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
  const firstRow = position?.row ?? 0;
  let lastRow = firstRow;
  /** The counts at the end of `lastRow`. */
  let countsOfRows = counts;
  const add = (end: keyof ImportCounts) => {
    counts = { ...counts, [end]: counts[end] + 1 };
  };

  async function reject(rejection: Rejection): Promise<void> {
    add('rejected');
    await report.rejected(rejection);
  }

  /** Plans the links of a record. If it is rejected, the plans are those before its first wrong link. */
  async function stepsOf({ row, record, error, columns, rest, lost = [] }: SourceRow): Promise<Step[]> {
    const steps: Step[] = [];
    try {
      if (error !== undefined) throw new RowError(error);
      for (const link of options.mapRecord(record, options.mapping)) {
        steps.push({ plan: await planLink({ row, record, link }, planOptions), lost: [link.lost, lost] });
      }
    } catch (err) {
      if (!isErrorOfRecord(err)) throw err;
      steps.push({ rejection: { row, record, reason: err.message, columns, rest } });
    }
    return [...steps, { endOfRow: row }];
  }

  let steps: Step[] = [];
  let batch = new Map<string, LinkPlan>();
  let batchChars = 0;
  let unsettled = 0;

  /** Writes the batch, then counts and reports its steps in their order. @throws ImportError for a link that ends the import */
  async function flush(): Promise<void> {
    const plans = [...batch.values()];
    const done = steps;
    steps = [];
    batch = new Map();
    batchChars = 0;
    const outcomes = plans.length === 0 ? [] : await writer.write(plans);
    const ends = outcomes[Symbol.iterator]();
    for (const step of done) {
      if ('plan' in step) await account(step, ends.next().value as Outcome);
      else if ('rejection' in step) await reject(step.rejection);
      else {
        add('rows');
        [countsOfRows, lastRow] = [counts, step.endOfRow];
      }
    }
  }

  /** Writes the batch and reports progress. Called between rows only, so that the progress never ends within a row. */
  async function settle(): Promise<void> {
    await flush();
    await report.progress(counts, lastRow);
    ownSinceMs = undefined;
  }

  /** Counts and reports the outcome of a plan. @throws ImportError for one that ends the import */
  async function account({ plan, lost }: PlanStep, outcome: Outcome): Promise<void> {
    if (outcome.end === 'conflict') {
      // An import that is killed before it has failed continues at this row, and fails.
      await report.progress(countsOfRows, lastRow);
      throw new ImportError(outcome.reason);
    }
    if (outcome.end === 'rejected') return reject({ row: plan.row, record: plan.record, reason: outcome.reason });
    add(outcome.end);
    const link = `${plan.domain}/${plan.key}`;
    for (const losses of [...lost, plan.lost]) {
      for (const loss of losses) await report.lost({ row: plan.row, link, ...loss });
    }
    if (outcome.reason !== undefined)
      await report.lost({ row: plan.row, link, field: '', value: '', reason: outcome.reason });
  }

  let ending: ImportError | undefined;
  const beforeError = rowsBeforeError(rows, (err) => {
    ending = err;
  });
  for await (const sourceRow of beforeError) {
    if (sourceRow.row <= firstRow) continue;
    for (const step of await stepsOf(sourceRow)) {
      if ('plan' in step) {
        const address = addressKey(step.plan);
        // Two links of one address need two batches: the later one then finds the link that the earlier one created.
        if (batch.has(address) || batch.size >= BATCH_MAX) await flush();
        batch.set(address, step.plan);
      }
      steps.push(step);
    }
    batchChars += textChars(sourceRow.record);
    unsettled++;
    if (batch.size >= BATCH_MAX || batchChars >= BATCH_CHARS_MAX || unsettled >= ROWS_UNSETTLED_MAX) {
      await settle();
      unsettled = 0;
    }
  }
  await settle();
  if (ending !== undefined) throw ending;
  return counts;
}
