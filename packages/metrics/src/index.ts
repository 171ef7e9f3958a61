export {
  type ComponentStatus,
  type ComponentWatch,
  type ComponentWatchOptions,
  startComponentWatch,
} from './component-watch.js';
export type { Turn } from './instance-registry.js';
export type { RedisMemory } from './store-answers.js';
