import { createHash } from 'node:crypto';
import type { ClickHouseClient } from '@waymark/clickhouse';
import { ApiError, chunksOf, formatResourceId } from '@waymark/contract';
import { queryRows } from '../clickhouse/query-rows.js';
import { numberOf } from '../model/entity-type.js';
import type { LinkRecord } from '../model/record-schemas.js';
import type { RedisConnections } from '../redis/connections.js';
import type { RecordStore } from '../store/record-store.js';
import type { NamesTable } from '../store/unique-names.js';
import type { createLinkChanges } from './link-changes.js';
import { readUtm } from './link-url.js';

/**
 * The ends of A/B tests. Fields and bounds of a test are checked in packages/link-rules (link-fields.ts), visitors get a variant in
 * services/ingest (redirect/rules/variants.ts), services/management (links/change/update-link.ts) notes the choices of users, and
 * services/writer (ab-tests.ts) completes the tests that have ended.
 */

/** Dependencies of {@link createAbTests}. */
export interface AbTestsDeps {
  readonly redis: Pick<RedisConnections, 'run' | 'keyPrefix'>;
  readonly clickhouse: ClickHouseClient;
  readonly settings: Readonly<Record<string, number>>;
  readonly namesTable: Pick<NamesTable, 'ids'>;
  readonly store: Pick<RecordStore<LinkRecord>, 'get'>;
  readonly update: ReturnType<typeof createLinkChanges>['update'];
  readonly now: () => number;
}

/** Selects the A/B tests to complete: those that ended after `fromMs`, up to and including `untilMs`. */
export interface EndedWithin {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Skips links that were changed since their test ended, because a user may have chosen a variant already. */
  readonly untouchedOnly: boolean;
  /** Returns a number from 0 up to but not including 1; chooses between variants with equally many leads. */
  readonly random: () => number;
}

/** What stops a run, and what it reports. */
export interface RunOptions {
  /** Stops the run before the next link when it aborts. */
  readonly leaseLost: AbortSignal;
  /** Called for each link that the run has changed, before the run continues: no later run reports that link. Must not reject. */
  readonly onChanged: (link: LinkRecord) => Promise<void>;
}

/** What a run has left. */
export interface UncompletedTests {
  /** The links whose tests could not be completed. The next run tries them again. */
  readonly failed: readonly { readonly linkId: string; readonly err: unknown }[];
  /** The error of a store that ended the run early; undefined if none did. Select the same tests again then. */
  readonly endedBy: Error | undefined;
}

/** A note of an end that a user has set. */
interface Note {
  /** As it is stored. */
  readonly member: string;
  readonly end: string;
  /** When it was stored, epoch milliseconds. */
  readonly notedMs: number;
}

const WORKSPACES_PER_READ = 1000;
/** A run goes on after this many failed links, and ends at the next one, because a store is probably away. */
const FAILURES_MAX = 20;
/** How long the choice of a user is stored. Writers look at a test minutes after its end is set or reached, or when they run again. */
const CHOICE_SECONDS = 7 * 86_400;
/** How far the clock of a client that ends a test "now" may be ahead. */
const CLOCK_MS = 5_000;
/**
 * How long the note of an end stays while the link does not have this end. Longer than a change of a link takes, because the note is stored
 * before the change.
 */
const UNUSED_NOTE_MS = 120_000;
/** By how much the clock of the process that notes an end may be behind that of the writer (docs/production.md, Clocks). */
const NOTE_CLOCK_BEHIND_MS = 600_000;
/** About how many notes are read at a time. Redis reads them in half a millisecond. */
const NOTES_PER_READ = 1000;
/** How many ends of its tests a workspace may set in a minute: each is a note, which stays in Redis for some minutes. */
const NOTES_PER_MINUTE_MAX = 5000;
const MINUTE_SECONDS = 60;
/** Increments a counter, which begins anew some seconds after its first count. */
const COUNT = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
`;

/** Links whose test ended within a time. Also finds older versions of links, so `completeOne` checks the current record. */
const ENDED = `
SELECT DISTINCT workspace_id, id FROM links
WHERE workspace_id IN {workspaces:Array(UInt64)}
  AND test_completed_at > fromUnixTimestamp64Milli({from:Int64}, 'UTC')
  AND test_completed_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')`;

/**
 * The number of leads of each variant, by the number of the variant from 1. A lead belongs to the variant whose URL has the same base as
 * the URL of the lead. Of several such variants it belongs to the one with the same fragment, then to the one with the fewest query
 * parameters that the lead lacks, then to the one with the most that it has. If several fit equally well, it counts for each of them.
 */
const LEADS_BY_VARIANT = `
WITH
  {variants:Array(String)} AS variants,
  address -> arrayFilter(parameter -> parameter != '', splitByChar('&', queryString(cutFragment(address)))) AS parametersOf,
  parametersOf(url) AS sent,
  arrayMap(
    variant -> (cutQueryString(cutFragment(variant)) = cutQueryString(cutFragment(url))) * (
      1e9 + 1e8 * (fragment(variant) = fragment(url))
      - 1e4 * arrayCount(parameter -> NOT has(sent, parameter), parametersOf(variant))
      + arrayCount(parameter -> has(sent, parameter), parametersOf(variant))
    ),
    variants
  ) AS scores
SELECT arrayJoin(arrayFilter((number, score) -> score > 0 AND score = arrayMax(scores), arrayEnumerate(variants), scores)) AS variant, count()
FROM lead_events
WHERE workspace_id = {workspace:UInt64} AND link_id = {link:UInt64}
  AND timestamp >= fromUnixTimestamp64Milli({from:Int64}, 'UTC')
  AND timestamp < fromUnixTimestamp64Milli({until:Int64}, 'UTC')
GROUP BY variant`;

/** Completes A/B tests of links: sets the destination to the winning variant (docs/reference/links.md). */
export function createAbTests({ redis, clickhouse, settings, namesTable, store, update, now }: AbTestsDeps) {
  const choiceKey = (id: string) => `${redis.keyPrefix}waymark:link-tests:chosen:${id}`;
  /**
   * The key of a destination that a user is about to set: `<end>/<digest of the destination>`. It counts only while the link has both,
   * because the change of the link may have failed.
   */
  const pendingChoiceKey = (id: string) => `${redis.keyPrefix}waymark:link-tests:choosing:${id}`;
  /**
   * The key of a set of notes of ends that users have set: `<workspace id>/<link id>/<end>/<epoch milliseconds of the note>`. Every note
   * is a member of its own, so that the removal of one leaves those that were added meanwhile.
   */
  const endedKey = `${redis.keyPrefix}waymark:link-tests:ended`;
  /** The key of the number of notes of a workspace in the present minute. */
  const countKey = (workspaceId: string) => `${redis.keyPrefix}waymark:link-tests:noted:${workspaceId}`;
  /**
   * The key of a set of links whose tests a run could not complete, each as it selected them: `<workspace id>/<link id>/<from>`, and
   * `/untouched` if it skipped changed ones.
   */
  const failedKey = `${redis.keyPrefix}waymark:link-tests:failed`;

  async function endedLinks({ fromMs, untilMs }: EndedWithin): Promise<(readonly [string, string])[]> {
    const workspaces = await namesTable.ids('workspace');
    const found: (readonly [string, string])[] = [];
    for (const some of chunksOf(workspaces, WORKSPACES_PER_READ)) {
      const rows = await queryRows<[string, string]>(clickhouse, {
        query: ENDED,
        parameters: {
          workspaces: some.map(BigInt),
          from: fromMs,
          until: untilMs,
        },
        settings,
      });
      for (const [workspace, id] of rows) {
        found.push([formatResourceId('workspace', workspace), formatResourceId('link', id)]);
      }
    }
    return found;
  }

  const pendingChoiceOf = ({ testCompletedAt, url }: LinkRecord) =>
    `${testCompletedAt}/${createHash('sha256').update(url).digest('base64url')}`;

  /** Whether a user has set the destination of the link with or after the end of its test. */
  async function isChosen(link: LinkRecord): Promise<boolean> {
    const { id, testCompletedAt } = link;
    const [chosen, pending] = await redis.run((client) =>
      Promise.all([client.get(choiceKey(id)), client.get(pendingChoiceKey(id))]),
    );
    return chosen === testCompletedAt || pending === pendingChoiceOf(link);
  }

  /** The variant with the most leads; undefined when none has any. */
  async function winnerOf(link: LinkRecord, endedAtMs: number, random: () => number): Promise<string | undefined> {
    const variants = (link.testVariants ?? []).map(({ url }) => url);
    const rows = await queryRows<[number, string]>(clickhouse, {
      query: LEADS_BY_VARIANT,
      parameters: {
        workspace: numberOf('workspace', link.workspaceId),
        link: numberOf('link', link.id),
        from: Date.parse(link.testStartedAt ?? link.createdAt),
        until: endedAtMs,
        variants,
      },
      settings,
    });
    const leads = new Map(rows.map(([number, count]) => [Number(number), Number(count)]));
    const most = Math.max(...leads.values());
    const best = variants.filter((_, index) => leads.get(index + 1) === most);
    return best[Math.floor(random() * best.length)];
  }

  /**
   * Completes the test of a link, unless it has changed or a user has chosen a variant.
   *
   * @returns the changed link; undefined if this call has not changed it
   */
  async function completeOne(workspaceId: string, id: string, within: EndedWithin): Promise<LinkRecord | undefined> {
    const link = await store.get(workspaceId, id);
    if (link === undefined || link.testVariants === null || link.testCompletedAt === null) return undefined;
    const { testCompletedAt } = link;
    const endedAtMs = Date.parse(testCompletedAt);
    if (endedAtMs <= within.fromMs || endedAtMs > within.untilMs) return undefined;
    if (within.untouchedOnly && Date.parse(link.updatedAt) > endedAtMs) return undefined;
    if (await isChosen(link)) return undefined;
    const url = await winnerOf(link, endedAtMs, within.random);
    if (url === undefined || url === link.url) return undefined;
    // If a user extends the test or sets a destination at the same time, that change is kept.
    let isEnded = false;
    const updated = await update(workspaceId, id, (record) => {
      isEnded = record.testCompletedAt === testCompletedAt && record.url === link.url;
      return isEnded ? { ...record, url, ...readUtm(url) } : record;
    });
    return isEnded ? updated : undefined;
  }

  /** @throws ApiError 429 when the workspace has {@link NOTES_PER_MINUTE_MAX} notes of this minute already */
  async function countNote(workspaceId: string): Promise<void> {
    const key = countKey(workspaceId);
    const counted = await redis.run((client) => client.eval(COUNT, 1, key, MINUTE_SECONDS));
    if (Number(counted) <= NOTES_PER_MINUTE_MAX) return;
    const message = `At most ${NOTES_PER_MINUTE_MAX} A/B tests of a workspace can be ended in a minute. Retry in ${MINUTE_SECONDS} s.`;
    throw new ApiError('rate_limit_exceeded', message, { retryAfterSeconds: MINUTE_SECONDS });
  }

  const hasEnded = ({ testVariants, testCompletedAt }: LinkRecord, atMs: number) =>
    testVariants !== null && testCompletedAt !== null && Date.parse(testCompletedAt) <= atMs;

  /** One run over ended tests. It continues after a link that fails. @throws the error of a link when too many fail */
  function startRun({ leaseLost, onChanged }: RunOptions) {
    /** When each of the links was looked at, epoch milliseconds, by id. */
    const seen = new Map<string, number>();
    const failed: { linkId: string; err: unknown }[] = [];
    return {
      seen,
      isLost: () => leaseLost.aborted,
      /** @returns whether the link was looked at without a failure */
      async complete(workspaceId: string, id: string, within: EndedWithin): Promise<boolean> {
        try {
          const lookedMs = now();
          const changed = await completeOne(workspaceId, id, within);
          seen.set(id, lookedMs);
          if (changed !== undefined) await onChanged(changed);
          return true;
        } catch (err) {
          if (failed.length >= FAILURES_MAX) throw err;
          failed.push({ linkId: id, err });
          return false;
        }
      },
      result: (endedBy?: Error): UncompletedTests => ({ failed, endedBy }),
    };
  }

  type Run = ReturnType<typeof startRun>;

  /** The notes by the link, `<workspace id>/<link id>`, in parts of about {@link NOTES_PER_READ}. May yield a note twice. */
  async function* notesByLink(): AsyncGenerator<readonly [string, Note[]]> {
    let cursor = '0';
    do {
      const from = cursor;
      const [next, members] = await redis.run((client) => client.sscan(endedKey, from, 'COUNT', NOTES_PER_READ));
      const byLink = new Map<string, Note[]>();
      for (const member of members) {
        const [workspaceId, id, end = '', notedMs] = member.split('/');
        const link = `${workspaceId}/${id}`;
        const notes = byLink.get(link) ?? [];
        byLink.set(link, notes);
        notes.push({ member, end, notedMs: Number(notedMs) });
      }
      yield* byLink;
      cursor = next;
    } while (cursor !== '0');
  }

  /**
   * Completes the tests that users have ended, however long ago their ends are. Notes of ends that are not due yet, and those of links that
   * failed, stay in the set. Those of ends that their links do not have stay for a while, because the change of the link may follow.
   */
  async function completeNoted(within: EndedWithin, run: Run): Promise<void> {
    const whenever = { ...within, fromMs: Number.NEGATIVE_INFINITY, untouchedOnly: false };
    const failed = new Set<string>();
    for await (const [link, notes] of notesByLink()) {
      if (run.isLost()) break;
      const [workspaceId = '', id = ''] = link.split('/');
      const testCompletedAt = (await store.get(workspaceId, id))?.testCompletedAt;
      const isPresent = ({ end }: Note) => end === testCompletedAt;
      const due = notes.filter((note) => isPresent(note) && Date.parse(note.end) <= within.untilMs);
      const unused = notes.filter((note) => !isPresent(note) && now() - note.notedMs >= UNUSED_NOTE_MS);
      const done = [...unused, ...(failed.has(id) ? [] : await lookedAt(due))].map(({ member }) => member);
      if (done.length > 0) await redis.run((client) => client.srem(endedKey, ...done));

      /** The notes that no later run needs, after a look at the link. */
      async function lookedAt(present: readonly Note[]): Promise<readonly Note[]> {
        const lookedMs = run.seen.get(id);
        // The link may have got this end after the run looked at it, so the next run looks again.
        if (lookedMs !== undefined)
          return present.filter(({ notedMs }) => lookedMs - notedMs >= UNUSED_NOTE_MS + NOTE_CLOCK_BEHIND_MS);
        if (present.length === 0 || (await run.complete(workspaceId, id, whenever))) return present;
        failed.add(id);
        return [];
      }
    }
  }

  /** Completes the tests that earlier runs could not complete. */
  async function completeFailed(within: EndedWithin, run: Run): Promise<void> {
    for (const member of await redis.run((client) => client.smembers(failedKey))) {
      if (run.isLost()) break;
      const [workspaceId = '', id = '', fromMs, untouched] = member.split('/');
      const earlier = { ...within, fromMs: Number(fromMs), untouchedOnly: untouched !== undefined };
      const isDone = run.seen.has(id) || (await run.complete(workspaceId, id, earlier));
      if (isDone) await redis.run((client) => client.srem(failedKey, member));
    }
  }

  /** Completes the tests that ended within the time. Notes those that could not be completed, for later runs. */
  async function completeEnded(within: EndedWithin, run: Run): Promise<void> {
    for (const [workspaceId, id] of await endedLinks(within)) {
      if (run.isLost()) break;
      if (run.seen.has(id) || (await run.complete(workspaceId, id, within))) continue;
      const member = `${workspaceId}/${id}/${within.fromMs}${within.untouchedOnly ? '/untouched' : ''}`;
      await redis.run((client) => client.sadd(failedKey, member));
    }
  }

  return {
    /**
     * Call it before the end of a link's test is changed, with the link as it will be: if the test is over then, the next run completes it,
     * even if earlier runs have completed all tests up to that end. Does nothing if the test will run on. If the change fails, the note
     * has no effect.
     *
     * @throws ApiError 429 when the workspace has set too many ends in this minute, 500 with `Retry-After` when Redis is away: do not change
     *   the link then
     */
    async noteEnd(link: LinkRecord): Promise<void> {
      if (!hasEnded(link, now() + CLOCK_MS)) return;
      await countNote(link.workspaceId);
      const note = `${link.workspaceId}/${link.id}/${link.testCompletedAt}/${now()}`;
      await redis.run((client) => client.sadd(endedKey, note));
    },

    /**
     * Call it before a destination that a user sets is stored, with the link as it will be: the destination stays from the moment it is
     * stored, even if the process ends before {@link keepDestination}. Does nothing while the test runs. If the change fails, the note has
     * no effect.
     *
     * @throws ApiError 500 with `Retry-After` when Redis is away: do not change the link then
     */
    async noteChoice(link: LinkRecord): Promise<void> {
      if (!hasEnded(link, now() + CLOCK_MS)) return;
      await redis.run((client) => client.set(pendingChoiceKey(link.id), pendingChoiceOf(link), 'EX', CHOICE_SECONDS));
    },

    /**
     * Call it when a user has set the destination of a link: if the test of the link has ended, it is not completed any more, so that this
     * destination stays. Does nothing while the test runs.
     */
    async keepDestination(link: LinkRecord): Promise<void> {
      if (!hasEnded(link, now() + CLOCK_MS)) return;
      await redis.run((client) => client.set(choiceKey(link.id), link.testCompletedAt ?? '', 'EX', CHOICE_SECONDS));
    },

    /**
     * Sets the destination of links whose test has ended to the variant with the most leads. An error of a store ends the run, and is
     * returned.
     */
    async complete(within: EndedWithin, options: RunOptions): Promise<UncompletedTests> {
      const run = startRun(options);
      try {
        await completeNoted(within, run);
        await completeFailed(within, run);
        await completeEnded(within, run);
        return run.result();
      } catch (err) {
        return run.result(err instanceof Error ? err : new Error('a run over A/B tests failed', { cause: err }));
      }
    },
  };
}
