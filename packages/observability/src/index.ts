export {
  type ComponentStatus,
  type ComponentWatch,
  type ComponentWatchOptions,
  startComponentWatch,
} from './components/component-watch.js';
export type { Turn } from './components/instance-registry.js';
export type { RedisMemory } from './components/store-answers.js';
export { METRICS } from './metrics/metric-names.js';
export { type MetricsRouteOptions, metricsRoute, requestCountPlugin } from './metrics/metrics-plugin.js';
export { type Operations, type OperationsOptions, startOperations } from './operations.js';
export { startTracing, type Tracing, type TracingOptions, type TracingSettings } from './tracing/tracing.js';
