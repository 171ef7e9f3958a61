import type { Tracing, TracingOptions } from './tracing.js';

/** Starts tracing when OTEL_EXPORTER_OTLP_ENDPOINT is set. Its libraries are loaded only then. */
export async function startTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { otlpEndpoint } = options.settings;
  if (otlpEndpoint === undefined) return undefined;
  const { createTracing } = await import('./otlp-tracing.js');
  return createTracing(options, otlpEndpoint);
}
