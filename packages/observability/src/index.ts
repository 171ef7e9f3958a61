export {
  type ComponentWatch,
  type ComponentWatchOptions,
  startComponentWatch,
} from './components/component-watch.js';
export { createInstanceRegistry, type Instance, type ProcessChange } from './components/instance-registry.js';
export type { ComponentStatus } from './components/service-states.js';
export { type DiskNeed, diskShortage, fullDisk } from './free-space.js';
export { METRICS } from './metrics/metric-names.js';
export { type MetricsRouteOptions, metricsRoute, requestCountPlugin } from './metrics/metrics-plugin.js';
export { type Operations, type OperationsOptions, startOperations } from './operations.js';
export { startTracing } from './tracing/start-tracing.js';
export type { Tracing, TracingOptions, TracingSettings } from './tracing/tracing.js';
