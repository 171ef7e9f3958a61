import { join } from 'node:path';
import type { Catalog, SealedCounts, SealedReport } from '@waymark/catalog';
import { instanceKeyFiles, keyMarks, readInstanceKeys } from '@waymark/config';
import type { Instance } from '@waymark/observability';
import { CommandError } from '../../command-error.js';
import { walkImportCredentials } from '../../import/sealed-credentials.js';
import { type CommandResult, table } from '../../output.js';
import { withProgress } from '../../progress.js';
import { runningServices } from '../../running-services.js';
import { findTarget, type Target, withCatalog, withQueues } from '../../stores.js';

const RUNBOOK = 'docs/runbooks/rotating-keys.md';

/**
 * The names of running processes for which `hasKeys` is false. Processes of earlier releases do not report their keys, and are listed too.
 */
async function processesWithout(
  target: Target,
  hasKeys: (keys: NonNullable<Instance['keys']>) => boolean,
): Promise<string[]> {
  const running = await withQueues(target, ([redis]) => runningServices(redis));
  return running
    .filter(({ keys }) => keys === undefined || !hasKeys(keys))
    .map(({ service, instance }) => `${service} ${instance}`)
    .sort();
}

/** @throws CommandError when a running process does not accept the current key, and could not read re-sealed values */
async function checkAccepted(target: Target, mark: string): Promise<void> {
  if (target.settings.instanceKeyNext !== undefined) {
    throw new CommandError(`INSTANCE_KEY_NEXT is set: first make it INSTANCE_KEY everywhere (${RUNBOOK})`);
  }
  const without = await processesWithout(target, ({ accepted }) => accepted.includes(mark));
  if (without.length === 0) return;
  throw new CommandError(
    `these processes do not accept the current instance key, restart them with it first: ${without.join(', ')}`,
  );
}

function sumOf(counts: readonly SealedCounts[]): SealedCounts {
  const add = (field: keyof SealedCounts) => counts.reduce((sum, one) => sum + one[field], 0);
  return { current: add('current'), resealed: add('resealed'), other: add('other'), unknown: add('unknown') };
}

/** Counts the sealed values of all records, and re-seals them if requested. */
function walkRecords({ sealedValues }: Catalog, isResealing: boolean): Promise<SealedReport> {
  let counts: readonly SealedCounts[] = [];
  const onProgress = (now: SealedReport['counts']) => {
    counts = Object.values(now);
  };
  const read = () => {
    const { current, other, unknown, resealed } = sumOf(counts);
    return { text: `${current + other + unknown} values visited, ${resealed} re-sealed` };
  };
  return withProgress(read, () => sealedValues.walk({ isResealing, onProgress }), { isLogged: true });
}

/** The reasons why the previous key is still needed; empty when it can be removed. */
function obstacles(sum: SealedCounts, unreadable: readonly string[], late: readonly string[]): string[] {
  return [
    ...(sum.unknown === 0
      ? []
      : [
          `Values that were sealed with a key that is not here: ${sum.unknown}. Set INSTANCE_KEY_PREVIOUS to it and repeat.`,
          `They belong to ${unreadable.join(', ')}${sum.unknown > unreadable.length ? ', …' : ''}.`,
        ]),
    ...(sum.other === 0
      ? []
      : [`Values that need the previous key: ${sum.other}. Run: npx waymark instance-key reseal`]),
    ...(late.length === 0
      ? []
      : [`These processes still seal with another key, restart them and repeat: ${late.join(', ')}`]),
  ];
}

/**
 * `waymark instance-key reseal`: re-seals values of the previous key; with `check` only counts them. Fails while the previous key is
 * needed.
 */
export async function resealValues({ check: isCheck = false }: { readonly check?: boolean }): Promise<CommandResult> {
  const target = findTarget();
  const { instanceKeyPrevious, dataDir } = target.settings;
  const keys = readInstanceKeys(target.settings);
  const mark = keyMarks(keys).current;
  if (!isCheck) await checkAccepted(target, mark);
  const { counts, unreadable } = await withCatalog(async (catalog) => {
    const ofRecords = await walkRecords(catalog, !isCheck);
    const ofImports = await walkImportCredentials(join(dataDir, 'imports'), catalog, !isCheck);
    return {
      counts: { ...ofRecords.counts, 'import credential': ofImports.counts },
      unreadable: [...ofRecords.unreadable, ...ofImports.unreadable],
    };
  });
  const late = await processesWithout(target, ({ current }) => current === mark);
  const sum = sumOf(Object.values(counts));
  const open = obstacles(sum, unreadable, late);
  const previous =
    instanceKeyPrevious === undefined ? instanceKeyFiles.previousFileIn(dataDir) : 'INSTANCE_KEY_PREVIOUS';
  const end = keys.previous === undefined ? [] : [`${previous} can be removed; then restart Waymark.`];
  return {
    data: { counts, unreadable, processesWithOtherKey: late, isPreviousKeyNeeded: open.length > 0 },
    failed: open.length > 0,
    lines: [
      ...table([
        ['', 'CURRENT KEY', 'PREVIOUS KEY', 'UNKNOWN KEY'],
        ...Object.entries(counts).map(([kind, { current, other, unknown }]) => [
          `${kind}s`,
          ...[current, other, unknown].map(String),
        ]),
      ]),
      ...(isCheck ? [] : [`Values re-sealed: ${sum.resealed}.`]),
      ...(open.length > 0 ? open : end),
    ],
  };
}
