import { SentinelConnector } from 'ioredis';
import { firstEnds } from './end-once.js';

/** What the types of ioredis do not show: the subscriptions by which Sentinels announce another master. */
interface Detecting {
  failoverDetector: { cleanup(): void } | null;
  initFailoverDetector(): Promise<void>;
}

/** Connects to the master that Sentinels name. */
export class MasterConnector extends SentinelConnector {
  readonly #isFirstEnd = firstEnds();

  constructor(options: ConstructorParameters<typeof SentinelConnector>[0]) {
    super(options);
    const detecting = this as unknown as Detecting;
    const subscribe = detecting.initFailoverDetector;
    // A connection that is ended while it is made would subscribe afterwards, and nothing would end its subscriptions.
    detecting.initFailoverDetector = async () => {
      if (this.connecting) await subscribe.call(this);
    };
  }

  /**
   * ioredis keeps the failover detector of a connection that has ended. If the Sentinels announced a master while the next connection is
   * made, the detector would end that one for good; so it is removed first.
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
