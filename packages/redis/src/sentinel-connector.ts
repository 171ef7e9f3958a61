import { SentinelConnector } from 'ioredis';
import { createFirstCloseCheck } from './first-close.js';

/** Members that the types of ioredis leave out: they handle the subscriptions by which Sentinels announce another master. */
interface Detecting {
  failoverDetector: { cleanup(): void } | null;
  initFailoverDetector(): Promise<void>;
}

/** Connects to the master that the Sentinels name; works around defects of ioredis' own connector. */
export class MasterConnector extends SentinelConnector {
  readonly #isFirstClose = createFirstCloseCheck();

  constructor(options: ConstructorParameters<typeof SentinelConnector>[0]) {
    super(options);
    const detecting = this as unknown as Detecting;
    const subscribe = detecting.initFailoverDetector;
    // Without this check, a connection that is closed while it is being opened would subscribe afterwards, and stay subscribed for ever.
    detecting.initFailoverDetector = async () => {
      if (this.connecting) await subscribe.call(this);
    };
  }

  /**
   * Removes the failover detector of the previous connection, which ioredis keeps. If the Sentinels announced another master while the next
   * connection is being opened, the old detector would close the new connection for good.
   */
  override connect(...parameters: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    const detecting = this as unknown as Detecting;
    detecting.failoverDetector?.cleanup();
    detecting.failoverDetector = null;
    return super.connect(...parameters);
  }

  override disconnect(): void {
    if (this.#isFirstClose(this.stream)) super.disconnect();
    else this.connecting = false;
  }
}
