import { exceptions } from './database-exception.js';

/** Limit on waiting statements, to bound memory: further ones are refused at once. */
const WAITING_MAX = 1_000;

/** A semaphore: a limited number of holders, and a queue of waiters in the order of arrival. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a slot and resolves to the function that releases it. Rejects with the signal's reason if it is aborted first. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#release();
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX) throw exceptions.tooMany(WAITING_MAX);
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
