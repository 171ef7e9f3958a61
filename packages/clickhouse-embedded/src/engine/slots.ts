import { exceptions } from './database-exception.js';

/** Limit on the waiting statements with an owner, and on those without one, to bound memory: further ones are refused at once. */
const WAITING_MAX = 1_000;

/** Slots besides the shared ones, which statements with an owner do not get. */
export const RESERVED_SLOTS = 2;

/** The last shared slots, up to this number, are kept for owners that have none. With fewer than eight shared slots, fewer are kept. */
const NEWCOMERS_MAX = 2;
const SLOTS_PER_NEWCOMER = 4;

interface Waiter {
  /** Its place in the order of all arrivals. */
  readonly arrival: number;
  enter(): void;
}

/** The statements of one owner. Owners without statements have no entry. */
interface Owner {
  running: number;
  readonly waiting: Set<Waiter>;
}

/**
 * A limited number of slots for statements. Those without an owner, such as inserts and look-ups by key, get any of them in the order of
 * arrival. Those with an owner get the shared ones only: the owner with the fewest is next, and none gets the last ones while it has another.
 * So slow statements of some owners hold up neither those without an owner nor, for long, the first ones of other owners.
 */
export class Slots {
  #free: number;
  #sharedFree: number;
  readonly #keptForNewcomers: number;
  #arrivals = 0;
  readonly #waiting = new Set<Waiter>();
  /** In the order of their turns: an owner that gets a slot becomes the last. */
  readonly #owners = new Map<string, Owner>();

  /** @param shared how many slots statements with an owner can get together */
  constructor(shared: number) {
    this.#sharedFree = shared;
    this.#free = shared + RESERVED_SLOTS;
    this.#keptForNewcomers = Math.min(NEWCOMERS_MAX, Math.floor(shared / SLOTS_PER_NEWCOMER));
  }

  /** Waits for a slot and resolves to the function that releases it. Rejects with the signal's reason if it is aborted first. */
  async take(signal: AbortSignal, owner?: string): Promise<() => void> {
    signal.throwIfAborted();
    return owner === undefined ? this.#takeAny(signal) : this.#takeShared(signal, owner);
  }

  async #takeAny(signal: AbortSignal): Promise<() => void> {
    const enter = () => {
      this.#free -= 1;
    };
    if (this.#free > 0) enter();
    else await this.#wait(this.#waiting, signal, enter);
    return () => {
      this.#free += 1;
      this.#startNext();
    };
  }

  async #takeShared(signal: AbortSignal, name: string): Promise<() => void> {
    const owner = this.#owners.get(name) ?? { running: 0, waiting: new Set() };
    this.#owners.set(name, owner);
    const enter = () => {
      this.#free -= 1;
      this.#sharedFree -= 1;
      owner.running += 1;
      this.#owners.delete(name);
      this.#owners.set(name, owner);
    };
    const removeIfIdle = () => {
      if (owner.running > 0 || owner.waiting.size > 0) return;
      if (this.#owners.get(name) === owner) this.#owners.delete(name);
    };
    try {
      if (this.#mayEnter(owner)) enter();
      else await this.#wait(owner.waiting, signal, enter);
    } catch (err) {
      removeIfIdle();
      throw err;
    }
    return () => {
      this.#free += 1;
      this.#sharedFree += 1;
      owner.running -= 1;
      removeIfIdle();
      this.#startNext();
    };
  }

  #mayEnter({ running }: Owner): boolean {
    return this.#free > 0 && this.#sharedFree > (running === 0 ? 0 : this.#keptForNewcomers);
  }

  #wait(queue: Set<Waiter>, signal: AbortSignal, enter: () => void): Promise<void> {
    const isShared = queue !== this.#waiting;
    if ((isShared ? this.#sharedWaiting() : queue.size) >= WAITING_MAX) throw exceptions.tooMany(WAITING_MAX);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        arrival: this.#arrivals++,
        enter() {
          signal.removeEventListener('abort', leave);
          queue.delete(waiter);
          enter();
          resolve();
        },
      };
      const leave = () => {
        queue.delete(waiter);
        reject(signal.reason);
      };
      queue.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #sharedWaiting(): number {
    let count = 0;
    for (const { waiting } of this.#owners.values()) count += waiting.size;
    return count;
  }

  /** Of the owners that may have a slot, the first statement of the one with the fewest; among equals, of the one that is next in turn. */
  #nextShared(): Waiter | undefined {
    let next: Owner | undefined;
    for (const owner of this.#owners.values()) {
      const isEligible = owner.waiting.size > 0 && this.#mayEnter(owner);
      if (isEligible && (next === undefined || owner.running < next.running)) next = owner;
    }
    const [waiter] = next?.waiting ?? [];
    return waiter;
  }

  /** Gives a slot that has become free to a statement that waits. */
  #startNext(): void {
    const [first] = this.#waiting;
    const shared = this.#nextShared();
    if (first === undefined || (shared !== undefined && shared.arrival < first.arrival)) shared?.enter();
    else first.enter();
  }
}
