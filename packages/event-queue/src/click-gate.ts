import type { Redis } from 'ioredis';
import type { ClickItem, ClickOutcome } from './batch-items.js';
import { READ_CLICKS, TAKE_CLICKS } from './claim-scripts.js';
import { claimState, PENDING_TTL_MS } from './claim-value.js';
import { CLICK_CLAIM_MS, CLICK_MARKER_PREFIX, type ClickMarker, clickClaimValue } from './click-markers.js';
import { withinMs } from './deadline.js';
import { claimKey } from './queue-keys.js';

/** Asks for the hourly claims of a batch of clicks. */
export interface ClickGate {
  /** Takes all claims in one call and settles the clicks that were counted before. Returns those to record. */
  take(clicks: readonly ClickItem[], marker: ClickMarker, milliseconds: number): Promise<ClickItem[]>;
  /** The same without writing, for a Redis that has no room: only clicks that were counted before are settled. */
  look(clicks: readonly ClickItem[], milliseconds: number): Promise<ClickItem[]>;
  /** How the claims stand; undefined = nobody holds it. */
  read(claims: readonly string[], milliseconds: number): Promise<(ClickOutcome | undefined)[]>;
}

interface ClickScripts {
  waymarkTakeClicks(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>;
  waymarkReadClicks(keyCount: number, ...keys: string[]): Promise<string[]>;
}

function outcomeOf(answer: string): ClickOutcome | undefined {
  if (answer === '') return undefined;
  const claim = claimState(answer);
  return claim.state === 'final' ? { state: 'known', clickId: claim.value } : { state: 'pending' };
}

/** Settles what has an outcome and returns the rest. */
function settle(clicks: readonly ClickItem[], outcomes: readonly (ClickOutcome | undefined)[]): ClickItem[] {
  return clicks.filter((click, index) => {
    const outcome = outcomes[index];
    if (outcome !== undefined) click.settle(outcome);
    return outcome === undefined;
  });
}

/** The gate on the producer's connection. */
export function createClickGate(redis: Redis): ClickGate {
  redis.defineCommand('waymarkTakeClicks', { lua: TAKE_CLICKS });
  redis.defineCommand('waymarkReadClicks', { lua: READ_CLICKS, readOnly: true });
  const scripts = redis as Redis & ClickScripts;

  const read: ClickGate['read'] = async (claims, milliseconds) => {
    const call = scripts.waymarkReadClicks(claims.length + 1, CLICK_MARKER_PREFIX, ...claims.map(claimKey));
    return (await withinMs(call, milliseconds, 'reading click claims')).map(outcomeOf);
  };

  return {
    read,

    async take(clicks, marker, milliseconds) {
      const keys = clicks.map((click) => claimKey(click.claim));
      const values = clicks.map(({ clickId, takesOver }) => (takesOver ? '!' : '') + clickClaimValue(marker, clickId));
      const call = scripts.waymarkTakeClicks(
        keys.length + 1,
        CLICK_MARKER_PREFIX,
        ...keys,
        CLICK_CLAIM_MS,
        PENDING_TTL_MS,
        ...values,
      );
      const answers = await withinMs(call, milliseconds, 'taking click claims');
      return settle(clicks, answers.map(outcomeOf));
    },

    async look(clicks, milliseconds) {
      const outcomes = await read(
        clicks.map((click) => click.claim),
        milliseconds,
      );
      // A pending claim is not waited for: its owner meets the same full Redis.
      const known = outcomes.map((outcome, index) =>
        outcome?.state === 'known' && clicks[index]?.takesOver === false ? outcome : undefined,
      );
      return settle(clicks, known);
    },
  };
}
