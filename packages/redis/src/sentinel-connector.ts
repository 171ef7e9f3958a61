import { SentinelConnector } from 'ioredis';
import { firstEnds } from './end-once.js';

/** A field of ioredis that its types do not show: the subscriptions by which Sentinels announce another master. */
interface Detecting {
  failoverDetector: { cleanup(): void } | null;
}

/** Connects to the master that Sentinels name. */
export class MasterConnector extends SentinelConnector {
  readonly #isFirstEnd = firstEnds();

  /**
   * An announcement ends the current connection. ioredis keeps listening for it after a connection has ended by itself; if it then came
   * while the next one is made, it would end that for good.
   */
  override connect(...parameters: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    const detecting = this as unknown as Detecting;
    detecting.failoverDetector?.cleanup();
    detecting.failoverDetector = null;
    return super.connect(...parameters);
  }

  override disconnect(): void {
    if (this.#isFirstEnd(this.stream)) super.disconnect();
    else this.connecting = false;
  }
}
