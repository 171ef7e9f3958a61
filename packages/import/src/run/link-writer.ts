import { setImmediate as immediate } from 'node:timers/promises';
import { API_READ, type LinkRecord, type NewLink, normaliseKey, workspaceLimits } from '@waymark/catalog';
import { ApiError, ROOT_KEY, resourceIdTime } from '@waymark/contract';
import {
  changedLink,
  changeFoundLinks,
  completeLink,
  draftLink,
  type LinkAuthor,
  type LinkContext,
  type LinkRuleDeps,
  linkContext,
  linksThisMonth,
  settleStoredLinks,
  withinLinkQuota,
} from '@waymark/link-rules';
import { isRefusedRecord } from '../model/record-errors.js';
import { acceptedFields, knownReferences } from './accepted-fields.js';
import { addressKey, type LinkPlan } from './link-plan.js';
import { madeByOthers } from './made-by-others.js';
import { whenUnlocked } from './when-unlocked.js';

/** What to do with a link that exists and differs. */
export const ON_CONFLICT = ['skip', 'update', 'fail'] as const;
export type OnConflict = (typeof ON_CONFLICT)[number];

/** The result of a plan; `conflict` ends the import. A rejected one has the reason, a skipped one may have it. */
export type Outcome =
  | { readonly end: 'created' | 'updated' | 'skipped'; readonly reason?: string }
  | { readonly end: 'rejected' | 'conflict'; readonly reason: string };

/** An existing link, and the plan to update it by. */
interface Update {
  readonly record: LinkRecord;
  readonly plan: LinkPlan;
}

export interface LinkWriterOptions {
  readonly deps: LinkRuleDeps;
  readonly author: LinkAuthor;
  readonly onConflict: OnConflict;
  readonly isDry: boolean;
  /** Domains that a dry run has not created, but a real run would. */
  readonly plannedDomains: ReadonlySet<string>;
  /**
   * Epoch milliseconds. An identical link that was created or changed since then counts as created or updated by this import, whose batch
   * was interrupted. Undefined = every identical link counts as skipped.
   */
  readonly ownSinceMs: () => number | undefined;
}

/** The outcome of a plan whose link was found, and is deleted before it is updated. */
const DELETED: Outcome = { end: 'rejected', reason: 'The link was deleted during the import.' };

function rejected(err: ApiError): Outcome {
  return { end: 'rejected', reason: err.message };
}

/** Creates and updates links by their plans, under the rules of `POST /links/bulk`. */
export function createLinkWriter({ deps, author, onConflict, isDry, plannedDomains, ownSinceMs }: LinkWriterOptions) {
  const { catalog } = deps;
  const { links } = catalog;
  const workspaceId = author.workspace.id;
  /** Addresses that this run has written since it continued. A second row of such an address is skipped, not counted as created again. */
  const written = new Set<string>();

  async function contextOf(
    plans: readonly LinkPlan[],
    found: readonly (LinkRecord | undefined)[],
  ): Promise<LinkContext> {
    const current = found.flatMap((link) => link ?? []).map(({ folderId, partnerId }) => ({ folderId, partnerId }));
    const context = await linkContext(deps, author, [...plans.map(({ body }) => body), ...current]);
    const { references } = context;
    return {
      ...context,
      references: { ...references, ownDomains: new Set([...references.ownDomains, ...plannedDomains]) },
    };
  }

  /** The link to create. @throws ApiError when it breaks a rule */
  function newLinkOf(context: LinkContext, { body, createdAt, baseline }: LinkPlan): NewLink {
    const complete = completeLink(context, body, draftLink(context, body));
    return { ...complete, createdAt, ...(baseline && { baseline }) };
  }

  /**
   * The record with the changes of the plan, or the same object when nothing differs. Only new links get the id at the source. The record stays
   * on its address: it was found by that of the plan, and if it has another one by now, another request has moved it.
   */
  function changedRecord(
    context: LinkContext,
    record: LinkRecord,
    { body, cleared, hasSourceId, baseline }: LinkPlan,
  ): LinkRecord {
    const { externalId, domain: _domain, key: _key, ...fields } = body;
    // A link of a partner has the tenant of the partner and, without a folder of its own, that of the program.
    const { folderId: _folder, tenantId: _tenant, trackConversion: _tracking, ...others } = cleared;
    const taken = record.partnerId === null && record.programId === null ? cleared : others;
    const changes = { ...taken, ...(!hasSourceId && externalId !== undefined && { externalId }), ...fields };
    const changed = changedLink(context, links, record, changes, 'replace');
    if (baseline === undefined || isSameCount(record, baseline) || hasEvents(record)) return changed;
    return { ...changed, baseline };
  }

  /** Whether the past events of the link are stored: a baseline would count them twice. */
  const hasEvents = ({ baseline: stored }: LinkRecord): boolean => stored?.areEvents === true;

  function isSameCount({ baseline: stored }: LinkRecord, baseline: NonNullable<LinkPlan['baseline']>): boolean {
    const { importedAt: _time, ...counts } = baseline;
    return stored !== undefined && Object.entries(counts).every(([name, count]) => stored[name as never] === count);
  }

  /** The outcome of a plan whose link exists and is identical. */
  function identicalOutcome({ id, key, updatedAt }: LinkRecord, plan: LinkPlan): Outcome {
    const sinceMs = ownSinceMs();
    if (sinceMs === undefined || written.has(addressKey(plan))) return { end: 'skipped' };
    if ((resourceIdTime('link', id) ?? 0) >= sinceMs) return { end: 'created' };
    const mayHaveChanged = onConflict === 'update' || key === ROOT_KEY;
    return { end: mayHaveChanged && Date.parse(updatedAt) >= sinceMs ? 'updated' : 'skipped' };
  }

  /** The outcome of a plan whose link exists; undefined when the link must be updated. */
  function existingOutcome(context: LinkContext, record: LinkRecord, plan: LinkPlan): Outcome | undefined {
    const address = `${plan.domain}/${plan.key}`;
    if (record.workspaceId !== workspaceId)
      return { end: 'rejected', reason: `The link ${address} belongs to another workspace.` };
    if (record.key !== plan.key) {
      const difference = addressKey(record) === addressKey(plan) ? 'case' : 'how it is encoded';
      return {
        end: 'rejected',
        reason: `The key differs only in ${difference} from that of the link ${record.domain}/${record.key}.`,
      };
    }
    try {
      if (changedRecord(context, record, plan) === record) {
        const isCounted = plan.baseline !== undefined && hasEvents(record);
        if (isCounted) return { end: 'skipped', reason: 'its past events are stored: the counts are left out' };
        return identicalOutcome(record, plan);
      }
    } catch (err) {
      if (!isRefusedRecord(err)) throw err;
      return rejected(err);
    }
    // Each domain has a root link from the start. Without a destination it counts as not existing.
    if (onConflict === 'update' || (record.key === ROOT_KEY && record.url === '')) return undefined;
    if (onConflict === 'skip') return { end: 'skipped', reason: 'exists and differs' };
    return { end: 'conflict', reason: `row ${plan.row}: the link ${address} exists already and differs` };
  }

  /** Updates links in one insert. @throws ApiError when one update makes the insert fail, such as by an external id that is taken */
  async function updateTogether(context: LinkContext, updates: readonly Update[]): Promise<readonly Outcome[]> {
    const planOf = new Map(updates.map(({ record, plan }) => [record.id, plan]));
    const refused = new Map<string, Outcome>();
    const found = updates.map(({ record }) => record);
    const contextFor = (record: LinkRecord) => contextOf([...planOf.values()], [record]);
    const change = (present: LinkContext, record: LinkRecord): LinkRecord => {
      const plan = planOf.get(record.id);
      if (plan === undefined) return record;
      try {
        const body = present === context ? plan.body : knownReferences(plan, present.references);
        return changedRecord(present, record, { ...plan, body });
      } catch (err) {
        if (!isRefusedRecord(err)) throw err;
        refused.set(record.id, rejected(err));
        return record;
      }
    };
    const { stored, settle } = await whenUnlocked(() => {
      refused.clear();
      return changeFoundLinks(deps, workspaceId, { found, context, contextFor, change });
    });
    await settle();
    const present = new Set(stored.map(({ id }) => id));
    return found.map(({ id }) => refused.get(id) ?? (present.has(id) ? { end: 'updated' } : DELETED));
  }

  /** Updates links in one insert, or one by one when one of them makes the insert fail. */
  async function update(context: LinkContext, updates: readonly Update[]): Promise<readonly Outcome[]> {
    if (isDry || updates.length === 0) return updates.map(() => ({ end: 'updated' }));
    try {
      return await updateTogether(context, updates);
    } catch (err) {
      if (!isRefusedRecord(err)) throw err;
      if (updates.length === 1) return [rejected(err)];
    }
    const outcomes: Outcome[] = [];
    for (const one of updates) outcomes.push(...(await update(context, [one])));
    return outcomes;
  }

  /** Creates as many of the links, in their order, as the monthly quota allows. The others get the error. */
  async function createWithinQuota(drafts: readonly NewLink[]): Promise<readonly (LinkRecord | ApiError)[]> {
    try {
      return await whenUnlocked(() =>
        withinLinkQuota(deps, author.workspace, drafts.length, async () =>
          settleStoredLinks(deps, workspaceId, await links.createMany(workspaceId, drafts)),
        ),
      );
    } catch (err) {
      if (!(err instanceof ApiError) || err.code !== 'forbidden') throw err;
      const limit = workspaceLimits(author.workspace).quotas.linksPerMonth ?? 0;
      const room = Math.max(0, limit - (await linksThisMonth(deps, workspaceId)));
      const first = drafts.slice(0, Math.min(room, drafts.length - 1));
      const made = first.length === 0 ? [] : await createWithinQuota(first);
      return [...made, ...drafts.slice(first.length).map(() => err)];
    }
  }

  interface Draft {
    readonly index: number;
    readonly plan: LinkPlan;
    readonly link: NewLink;
  }

  /** The outcome of a plan whose key or external id was taken by another request after the look-up. @param err the conflict */
  async function outcomeOfTaken(context: LinkContext, plan: LinkPlan, err: ApiError): Promise<Outcome> {
    const { externalId } = plan.body;
    const isIdTaken = externalId !== undefined && externalId !== null && err.message.includes('externalId');
    const record = await madeByOthers(() =>
      isIdTaken
        ? links.findByExternalId(workspaceId, externalId)
        : links.findByAddress(plan.domain, normaliseKey(plan.key), API_READ),
    );
    if (record === undefined || addressKey(record) !== addressKey(plan)) return rejected(err);
    const outcome = existingOutcome(context, record, plan) ?? (await update(context, [{ record, plan }]))[0];
    return outcome ?? rejected(err);
  }

  /**
   * Creates the links, and writes their outcomes. A link whose id at the source is the external id of another link is created without it.
   */
  async function create(context: LinkContext, drafts: readonly Draft[], outcomes: Outcome[]): Promise<void> {
    const results = await createWithinQuota(drafts.map(({ link }) => link));
    const again: Draft[] = [];
    for (const [place, draft] of drafts.entries()) {
      const result = results[place];
      const isIdTaken =
        result instanceof ApiError && result.code === 'conflict' && result.message.includes('externalId');
      if (isIdTaken && draft.plan.hasSourceId && draft.link.externalId !== null) {
        again.push({ ...draft, link: { ...draft.link, externalId: null } });
      } else if (!(result instanceof ApiError)) outcomes[draft.index] = { end: 'created' };
      else if (result.code === 'conflict') {
        outcomes[draft.index] = await outcomeOfTaken(context, draft.plan, result);
      } else outcomes[draft.index] = rejected(result);
    }
    if (again.length > 0) await create(context, again, outcomes);
  }

  return {
    /**
     * Creates or updates the links of a batch. Values that a link does not need and that are refused are added to `lost` of their plans.
     *
     * @param plans with different addresses
     * @returns an outcome for each plan, in their order, up to a link that exists and differs, with `fail`
     */
    async write(plans: readonly LinkPlan[]): Promise<readonly Outcome[]> {
      const found = await Promise.all(
        plans.map(({ domain, key }) => links.findByAddress(domain, normaliseKey(key), API_READ)),
      );
      const context = await contextOf(plans, found);
      const outcomes: Outcome[] = [];
      const drafts: Draft[] = [];
      const updates: (Update & { readonly index: number })[] = [];
      for (const [index, given] of plans.entries()) {
        // Other requests run in between: the checks of a large link take milliseconds.
        await immediate();
        const record = found[index];
        const known = knownReferences(given, context.references);
        const plan = { ...given, body: acceptedFields(known, record, given.lost) };
        if (record !== undefined) {
          const outcome = existingOutcome(context, record, plan);
          if (outcome === undefined) updates.push({ index, record, plan });
          else outcomes[index] = outcome;
          if (outcome?.end === 'conflict') break;
          continue;
        }
        try {
          drafts.push({ index, plan, link: newLinkOf(context, plan) });
          outcomes[index] = { end: 'created' };
        } catch (err) {
          if (!isRefusedRecord(err)) throw err;
          outcomes[index] = rejected(err);
        }
      }
      if (!isDry && drafts.length > 0) await create(context, drafts, outcomes);
      const updated = await update(context, updates);
      for (const [place, { index }] of updates.entries()) outcomes[index] = updated[place] as Outcome;
      if (ownSinceMs() !== undefined) for (const plan of plans) written.add(addressKey(plan));
      return outcomes;
    },
  };
}
