import type { Redis } from 'ioredis';
import { type ClickItem, type ClickOutcome, clickOutcome, clickPending } from './batch-items.js';
import { PENDING_TTL_MS } from './claim-value.js';
import { claimScripts } from './claims.js';
import { withinMs } from './deadline.js';
import { claimKey } from './queue-keys.js';

/** Asks for the hourly claims of a batch of clicks. */
export interface ClickGate {
  /** Takes all claims in one call and settles the clicks that were counted before. Returns those to record. */
  take(clicks: readonly ClickItem[], milliseconds: number): Promise<ClickItem[]>;
  /** The same without writing, for a Redis that has no room. */
  look(clicks: readonly ClickItem[], milliseconds: number): Promise<ClickItem[]>;
  /** How the claims stand, without taking them; undefined = nobody holds it. */
  read(claims: readonly string[], milliseconds: number): Promise<(ClickOutcome | undefined)[]>;
}

function settleHeld(clicks: readonly ClickItem[], outcomes: readonly (ClickOutcome | undefined)[]): ClickItem[] {
  return clicks.filter((click, index) => {
    const outcome = outcomes[index];
    if (outcome !== undefined) click.settle(outcome);
    return outcome === undefined;
  });
}

/** Clicks that take over record themselves whatever their claim says, so they are not asked about. */
function split(clicks: readonly ClickItem[]): { asking: ClickItem[]; certain: ClickItem[] } {
  const asking: ClickItem[] = [];
  const certain: ClickItem[] = [];
  for (const click of clicks) (click.takesOver ? certain : asking).push(click);
  return { asking, certain };
}

/** The gate on the producer's connection. */
export function createClickGate(redis: Redis): ClickGate {
  const scripts = claimScripts(redis);

  const read: ClickGate['read'] = async (claims, milliseconds) => {
    const held = await withinMs(redis.mget(...claims.map(claimKey)), milliseconds, 'reading click claims');
    return held.map((value) => (value === null ? undefined : clickOutcome(value)));
  };

  return {
    read,

    async take(clicks, milliseconds) {
      const { asking, certain } = split(clicks);
      if (asking.length === 0) return certain;
      const keys = asking.map((click) => claimKey(click.claim));
      const values = asking.map((click) => clickPending(click.clickId));
      const call = scripts.waymarkTakeClaims(keys.length, ...keys, PENDING_TTL_MS, ...values);
      const held = await withinMs(call, milliseconds, 'taking click claims');
      return [...certain, ...settleHeld(asking, held.map(clickOutcome))];
    },

    async look(clicks, milliseconds) {
      const { asking, certain } = split(clicks);
      if (asking.length === 0) return certain;
      const outcomes = await read(
        asking.map((click) => click.claim),
        milliseconds,
      );
      // A claim that is pending cannot be waited for: its owner meets the same full Redis.
      const known = outcomes.map((outcome) => (outcome?.state === 'known' ? outcome : undefined));
      return [...certain, ...settleHeld(asking, known)];
    },
  };
}
