import { ERASURE_MODES, type Erasure, PAGE_SIZE_MAX } from '@waymark/contract';
import { type ApiOptions, withApi } from '../../api/api-access.js';
import { type ApiRequest, type ApiRequests, RefusedRequest } from '../../api/api-requests.js';
import { interruptible } from '../../interruptible.js';
import { choiceOption, optionalText, type RawOption, requiredText } from '../../option-values.js';
import { type CommandResult, table } from '../../output.js';
import { leftToRepeat, readErasureFile, writeErasureFile } from './erasure-file.js';

export interface ErasureOptions extends ApiOptions {
  readonly mode?: RawOption;
}

/** Longer than a failover takes: these commands are short, and may be run again. */
const GIVE_UP_AFTER_MS = 60_000;

function withRequests<T>(options: ApiOptions, work: (requests: ApiRequests) => Promise<T>): Promise<T> {
  const access = { name: 'Erasure', scope: 'workspaces.write', giveUpAfterMs: GIVE_UP_AFTER_MS } as const;
  return interruptible('interrupted; the same command may be run again', (signal) =>
    withApi(options, { ...access, signal }, work),
  );
}

/** Repeats a request until it succeeds. A repeated erasure returns the same erasure again. */
const requestUntilDone = <T>(requests: ApiRequests, request: ApiRequest): Promise<T> =>
  requests.untilDone(() => requests.json<T>(request));

const eraseBy = (requests: ApiRequests, id: string, mode: Erasure['mode']): Promise<Erasure> =>
  requestUntilDone(requests, { method: 'POST', path: `/customers/${encodeURIComponent(id)}/erasure`, body: { mode } });

async function readAll(requests: ApiRequests): Promise<Erasure[]> {
  const erasures: Erasure[] = [];
  for (let page = 1; ; page++) {
    const found = await requestUntilDone<Erasure[]>(requests, { path: `/erasures?page=${page}` });
    erasures.push(...found);
    if (found.length < PAGE_SIZE_MAX) return erasures;
  }
}

function tableOf(erasures: readonly Erasure[]): string[] {
  const rows = erasures.map(({ id, mode, status, events, clicks, createdAt, erasedAt }) => [
    ...[id, mode, status, String(events), String(clicks), createdAt, erasedAt ?? ''],
  ]);
  return table([['ERASURE', 'MODE', 'STATUS', 'EVENTS', 'CLICKS', 'ACCEPTED', 'ERASED'], ...rows]);
}

/** Erases a person: a customer by its `cus_` id, or by `ext_` and its external id. */
export async function createErasure(customer: RawOption, options: ErasureOptions): Promise<CommandResult> {
  const id = requiredText('customer', customer);
  const mode = choiceOption('mode', options.mode, ERASURE_MODES, 'anonymise');
  const erasure = await withRequests(options, (requests) => eraseBy(requests, id, mode));
  return { data: erasure, lines: tableOf([erasure]) };
}

/** `waymark erasure list`: lists all erasures, newest first, or writes them to a file. */
export async function listErasures(options: ApiOptions & { readonly output?: RawOption }): Promise<CommandResult> {
  const file = optionalText('output', options.output);
  const erasures = await withRequests(options, readAll);
  if (file !== undefined) {
    await writeErasureFile(file, erasures);
    return { data: { file, erasures: erasures.length }, lines: [`${file}: ${erasures.length} erasures`] };
  }
  return { data: erasures, lines: tableOf(erasures) };
}

/** Messages about the erasures of a list that were not repeated. */
function notRepeated(leftOut: readonly string[], unnamed: number): string[] {
  return [
    ...(leftOut.length === 0
      ? []
      : [`${leftOut.length} left out, not in the records of this workspace: ${leftOut.join(', ')}`]),
    ...(unnamed === 0
      ? []
      : [
          `${unnamed} of external ids that had no customer: the list does not have these ids, so erase them again by hand`,
        ]),
  ];
}

/**
 * `waymark erasure replay`: erases the customers of a list again, after a backup was restored that is older than the erasures. Skips
 * erasures that the records show as completed, with a mode that is as strong. Customers who were created after the backup do not exist, and are left out.
 */
export async function replayErasures(file: RawOption, options: ErasureOptions): Promise<CommandResult> {
  const erasures = readErasureFile(requiredText('file', file));
  const accepted: Erasure[] = [];
  const leftOut: string[] = [];
  let unnamed = 0;
  await withRequests(options, async (requests) => {
    for (const { mode, customerIds } of leftToRepeat({ kept: erasures, found: await readAll(requests) })) {
      if (customerIds.length === 0) unnamed += 1;
      for (const customerId of customerIds) {
        const erasure = await eraseBy(requests, customerId, mode).catch((err: unknown) => {
          if (err instanceof RefusedRequest && err.code === 'not_found') return undefined;
          throw err;
        });
        if (erasure === undefined) leftOut.push(customerId);
        else accepted.push(erasure);
      }
    }
  });
  const lines = [...tableOf(accepted), `${accepted.length} accepted`, ...notRepeated(leftOut, unnamed)];
  return { data: accepted, lines };
}
