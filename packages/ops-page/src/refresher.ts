import type { OpsAnswer } from './ops-answer.js';

const EVERY_MS = 5000;
const ANSWER_MS_MAX = 10_000;

export interface RefresherOptions {
  /** URL of the data. */
  readonly address: () => string;
  readonly onAnswer: (answer: OpsAnswer) => void;
  /** @param reason a message for the user */
  readonly onFailure: (reason: string) => void;
}

/** The admin key was replaced. Each further request would count as a wrong key, and a network may send only a few of those. */
class KeyRefusedError extends Error {}

async function fetchAnswer(address: string, signal: AbortSignal): Promise<OpsAnswer> {
  const response = await fetch(address, { signal, headers: { accept: 'application/json' } });
  // 429 is only for requests with a wrong key.
  if (response.status === 401 || response.status === 429) {
    throw new KeyRefusedError('The admin key is no longer accepted: load the page again.');
  }
  if (!response.ok) throw new Error(`The API answered with status ${response.status}.`);
  return (await response.json()) as OpsAnswer;
}

function reasonOf(err: unknown): string {
  // Errors of `fetch` itself have other names, and messages that do not help the user.
  return err instanceof Error && err.name === 'Error' ? err.message : 'The API does not answer.';
}

/**
 * Requests the data five seconds after each answer while the page is visible and not paused, one request at a time. It ends when the key is
 * refused.
 */
export class Refresher {
  readonly #options: RefresherOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #request = new AbortController();
  #isPaused = false;
  #isEnded = false;

  constructor(options: RefresherOptions) {
    this.#options = options;
    document.addEventListener('visibilitychange', () => this.#resume());
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether it requests nothing more, because the key was refused. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.#resume();
  }

  /** Requests the data now, and aborts a request that is running. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    this.#request.abort();
    const request = new AbortController();
    this.#request = request;
    try {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
      const answer = await fetchAnswer(this.#options.address(), signal);
      this.#show(answer);
    } catch (err) {
      if (request.signal.aborted) return;
      this.#isEnded = err instanceof KeyRefusedError;
      this.#options.onFailure(reasonOf(err));
    }
    if (!request.signal.aborted) this.#timer = setTimeout(() => this.#resume(), EVERY_MS);
  }

  #show(answer: OpsAnswer): void {
    try {
      this.#options.onAnswer(answer);
    } catch (err) {
      console.error(err);
      throw new Error('This page cannot show the answer of the API: load it again.');
    }
  }

  #resume(): void {
    if (document.hidden || this.#isPaused || this.#isEnded) clearTimeout(this.#timer);
    else void this.refresh();
  }
}
