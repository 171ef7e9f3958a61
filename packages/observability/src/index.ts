export {
  type ComponentStatus,
  type ComponentWatch,
  type ComponentWatchOptions,
  startComponentWatch,
} from './component-watch.js';
export type { Turn } from './instance-registry.js';
export { METRICS } from './metric-names.js';
export { type MetricsRouteOptions, metricsRoute, requestCountPlugin } from './metrics-plugin.js';
export { type Operations, type OperationsOptions, startOperations } from './operations.js';
export type { RedisMemory } from './store-answers.js';
export { startTracing, type Tracing, type TracingOptions, type TracingSettings } from './tracing.js';
