export { type BloomFilter, createBloomFilter } from './bloom-filter.js';
export {
  type ChangeFeed,
  type ChangeSubscriber,
  createChangeFeed,
} from './change-feed.js';
export { createDataLoader, type DataLoaderOptions } from './data-loader.js';
export { createLru } from './lru.js';
export { pollUntil } from './poll-until.js';
export { createRecentChanges, type RecentChanges } from './recent-changes.js';
export { type CacheBound, createTrackedCache, type TrackedCache, type TrackedCacheOptions } from './tracked-cache.js';
export { answerWithin, withTimeout } from './with-timeout.js';
