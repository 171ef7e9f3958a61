import type { Catalog } from '@waymark/catalog';
import type { ClickHouseClient } from '@waymark/clickhouse';
import type { EventProducer } from '@waymark/event-queue';
import type { Logger } from '@waymark/http-kit';
import type { RateLimiter } from '@waymark/rate-limit';
import type { VisitReader } from '@waymark/visit';
import type { Admission } from '../admission.js';
import type { AppStoreClicks } from '../app-store-clicks.js';
import type { ProducerDeps } from '../click-producer.js';
import type { FreshClicks } from '../fresh-clicks.js';
import type { CurrencyConverter } from './conversions/currencies.js';

/** Dependencies of the track endpoints and of the trackers behind them. */
export interface TrackDeps {
  readonly catalog: Catalog;
  readonly producers: ProducerDeps['producers'];
  readonly clickhouse: ClickHouseClient;
  /** Name of the ClickHouse cluster; undefined for a single node. */
  readonly cluster: string | undefined;
  readonly readVisit: VisitReader;
  readonly admission: Admission;
  readonly appStoreClicks: AppStoreClicks;
  readonly freshClicks: FreshClicks;
  readonly rateLimiter: RateLimiter;
  readonly currencies: CurrencyConverter;
  readonly logger: Pick<Logger, 'error' | 'warn'>;
  readonly now: () => number;
}

/** Dependencies of the trackers for the workspaces of one queue shard. */
export interface ConversionDeps extends TrackDeps {
  /** The producer of that shard. */
  readonly producer: EventProducer;
}
