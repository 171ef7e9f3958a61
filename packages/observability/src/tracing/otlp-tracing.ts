import {
  type Attributes,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
} from '@opentelemetry/sdk-trace-base';
import { answerWithin } from '@waymark/cache';
import type { FastifyRequest } from 'fastify';
import { VERSION } from '../version.js';
import type { Tracing, TracingOptions } from './tracing.js';

const EXPORT_DELAY_MS = 1000;
const CLOSE_MS = 1000;
const LOG_INTERVAL_MS = 60_000;

/** Logs that traces could not be sent, at most once a minute. The receiver's answer is not logged, because it may contain anything. */
function logFailures(logger: TracingOptions['logger']): void {
  let nextMs = 0;
  const ignore = () => {};
  const error = () => {
    if (Date.now() < nextMs) return;
    nextMs = Date.now() + LOG_INTERVAL_MS;
    logger.warn({}, 'traces could not be sent: OTEL_EXPORTER_OTLP_ENDPOINT does not accept them');
  };
  diag.setLogger({ error, warn: ignore, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.ERROR);
}

/**
 * Samples a share of the requests at random, with the spans below them. The sampling flag and the trace id of the caller have no influence:
 * with either, a stranger could have every request traced.
 */
function createSampler(share: number): Sampler {
  const random: Sampler = {
    shouldSample: () => ({
      decision: Math.random() < share ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
    }),
  };
  return new ParentBasedSampler({ root: random, remoteParentSampled: random, remoteParentNotSampled: random });
}

/** Creates the tracing that sends spans over OTLP/HTTP. @param endpoint base URL of the receiver, without `/v1/traces` */
export function createTracing({ service, settings, logger }: TracingOptions, endpoint: string): Tracing {
  logFailures(logger);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint}/v1/traces`,
    headers: { ...settings.otlpHeaders },
  });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': `waymark-${service}`,
      'service.version': VERSION,
    }),
    sampler: createSampler(settings.tracedShare),
    spanProcessors: [new BatchSpanProcessor(exporter, { scheduledDelayMillis: EXPORT_DELAY_MS })],
  });
  const tracer = provider.getTracer('waymark', VERSION);
  const propagator = new W3CTraceContextPropagator();
  const carrier = {
    get: (headers: FastifyRequest['headers'], name: string) => headers[name],
    keys: (headers: FastifyRequest['headers']) => Object.keys(headers),
  };
  /** Spans of the requests in progress. Not by their ids: a proxy may set one id twice. */
  const spans = new WeakMap<FastifyRequest, Span>();
  /** The same by request id, for their queries; of several requests with one id, the first. */
  const spansById = new Map<string, Span>();

  /** Prepares a span that has ended already. @returns the function that adds it below a parent */
  const span = (
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    endMs: number,
    durationMs: number,
    error = false,
  ) => {
    return (parent = ROOT_CONTEXT) => {
      const made = tracer.startSpan(name, { kind, attributes, startTime: endMs - durationMs }, parent);
      if (error) made.setStatus({ code: SpanStatusCode.ERROR });
      made.end(endMs);
    };
  };

  return {
    begin(request) {
      const parent = propagator.extract(ROOT_CONTEXT, request.headers, carrier);
      const begun = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, parent);
      spans.set(request, begun);
      if (!spansById.has(request.id)) spansById.set(request.id, begun);
    },

    end(request, status, route) {
      const open = spans.get(request);
      if (open === undefined) return;
      spans.delete(request);
      if (spansById.get(request.id) === open) spansById.delete(request.id);
      const [method = '', pattern = ''] = route.split(' ');
      const { workspace } = request as { readonly workspace?: { readonly id: string } | null };
      open.updateName(route);
      open.setAttributes({
        'http.request.method': method,
        'http.route': pattern,
        'http.response.status_code': status,
        'waymark.request_id': request.id,
        ...(workspace == null ? {} : { 'waymark.workspace_id': workspace.id }),
      });
      if (status >= 500) open.setStatus({ code: SpanStatusCode.ERROR });
      open.end();
    },

    query({ endpoint, requestId }, { durationMs, readRows, error }) {
      const parent = spansById.get(requestId);
      const attributes = {
        'db.system.name': 'clickhouse',
        'waymark.read_rows': readRows,
        'error.type': error || undefined,
      };
      const add = span(`clickhouse ${endpoint}`, SpanKind.CLIENT, attributes, Date.now(), durationMs, error !== '');
      add(parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent));
    },

    batch({ kind, outcome, rows, bytes, attempts, insertMs, storedMs }) {
      const attributes = {
        'waymark.outcome': outcome,
        'waymark.rows': rows,
        'waymark.bytes': bytes,
        'waymark.attempts': attempts,
      };
      span(`store ${kind}`, SpanKind.CONSUMER, attributes, storedMs, insertMs, outcome === 'parked')();
    },

    async close() {
      await answerWithin(provider.shutdown(), CLOSE_MS, 'the receiver of traces').catch(() => undefined);
    },
  };
}
