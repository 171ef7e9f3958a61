import { setImmediate as immediate } from 'node:timers/promises';
import { type KeyCaller, linkVisibility, type NewLink, normaliseKey, otherKeyForms } from '@waymark/catalog';
import { ApiError, type CreateLinkBody, domainName, fieldError, type Link, type LinkError } from '@waymark/contract';
import {
  checkBulkImage,
  checkTagIds,
  type LinkContext,
  linkContext,
  newLink,
  settleStoredLinks,
  withinLinkQuota,
} from '@waymark/link-rules';
import type { LinkDeps } from '../link-deps.js';

/** @throws ApiError bad_request when two links have the same domain and key, in any encoding */
function checkDistinct(bodies: readonly CreateLinkBody[], fallbackDomain: string | undefined): void {
  const addresses = new Set<string>();
  for (const [index, { domain, key }] of bodies.entries()) {
    if (!key) continue;
    const lookUpKeys = [normaliseKey(key), ...otherKeyForms(key)];
    const forms = lookUpKeys.map((form) => `${domain ? domainName(domain) : fallbackDomain}/${form}`);
    const used = forms.find((form) => addresses.has(form));
    if (used !== undefined)
      throw fieldError('invalid_combination', `[${index}].key`, `${used} is used twice`, 'bad_request');
    for (const form of forms) addresses.add(form);
  }
}

/** The link to create, or the error that prevents it. */
async function linkOrError(deps: LinkDeps, context: LinkContext, body: CreateLinkBody): Promise<NewLink | ApiError> {
  try {
    const link = await newLink(deps, context, body);
    checkBulkImage(link);
    return link;
  } catch (err) {
    if (err instanceof ApiError && err.status < 500) return err;
    throw err;
  }
}

/** Starts the work on each item, and lets other requests run in between, because the checks of a large link take milliseconds. */
async function startInTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<Promise<R>[]> {
  const started: Promise<R>[] = [];
  for (const item of items) {
    const result = work(item);
    // Not unhandled: the caller awaits the result once all are started.
    result.catch(() => undefined);
    started.push(result);
    await immediate();
  }
  return started;
}

/**
 * `POST /links/bulk`: creates up to a hundred links in one insert.
 *
 * @param sent the links as they were sent, before validation has left out unknown members and trimmed texts
 * @returns the created links in the order of the bodies, then the errors of the others
 * @throws ApiError forbidden when they exceed the monthly quota, bad_request when two have the same domain and key
 */
export async function createLinks(
  deps: LinkDeps,
  caller: KeyCaller,
  bodies: readonly CreateLinkBody[],
  sent: readonly LinkError['link'][],
): Promise<(Link | LinkError)[]> {
  const { links } = deps.catalog;
  const workspaceId = caller.workspace.id;
  checkTagIds(bodies);
  const context = await linkContext(deps, caller, bodies);
  checkDistinct(bodies, context.references.fallbackDomain);
  const results = await Promise.all(await startInTurns(bodies, (body) => linkOrError(deps, context, body)));
  const drafts = results.filter((result): result is NewLink => !(result instanceof ApiError));
  const stored = await withinLinkQuota(deps, caller.workspace, bodies.length, () =>
    links.createMany(workspaceId, drafts),
  );
  const created = await settleStoredLinks(deps, workspaceId, stored);
  const records = created.flatMap((result) => (result instanceof ApiError ? [] : [result]));
  const createdFrom = new Map(drafts.map((draft, index) => [draft, created[index]]));
  const errors = sent.flatMap((link, index): LinkError[] => {
    const result = results[index];
    const fault = result instanceof ApiError ? result : result && createdFrom.get(result);
    return fault instanceof ApiError ? [{ link, error: fault.message, code: fault.code }] : [];
  });
  return [...(await links.objects(workspaceId, records, linkVisibility(caller.apiKey), true)), ...errors];
}
