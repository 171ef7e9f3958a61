import { SentinelConnector } from 'ioredis';
import { firstEnds } from './end-once.js';

/** Connects to the master that Sentinels name. */
export class MasterConnector extends SentinelConnector {
  readonly #isFirstEnd = firstEnds();

  override disconnect(): void {
    if (this.#isFirstEnd(this.stream)) super.disconnect();
    else this.connecting = false;
  }
}
