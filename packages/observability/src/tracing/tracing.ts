import type { QueryCaller, QueryReport } from '@waymark/clickhouse';
import type { WriteReport } from '@waymark/event-queue';
import type { FastifyRequest } from 'fastify';
import type { MetricsLogger } from '../metrics/metrics-logger.js';

/** Settings of tracing. */
export interface TracingSettings {
  /** Base URL of the OTLP receiver, without `/v1/traces`; undefined = tracing is off. */
  readonly otlpEndpoint: string | undefined;
  /** Headers of each export, such as an API key. */
  readonly otlpHeaders: Readonly<Record<string, string>>;
  /** Share of requests that are traced, from 0 to 1. */
  readonly tracedShare: number;
}

export interface TracingOptions {
  /** http, ingest, query, management or writer. */
  readonly service: string;
  readonly settings: TracingSettings;
  readonly logger: MetricsLogger;
}

/** Sends spans over OTLP. No span contains a path, a query, a header, a body or an address. */
export interface Tracing {
  /** Begins the span of a request. */
  begin(request: FastifyRequest): void;
  /** Ends the span of a request. @param status of its answer @param route method and pattern of the route */
  end(request: FastifyRequest, status: number, route: string): void;
  /** Adds a query of the API, below its request. */
  query(caller: QueryCaller, report: QueryReport): void;
  /** Adds an insert batch that the writer has stored. */
  batch(batch: WriteReport): void;
  /** Sends the remaining spans, for a second at most. */
  close(): Promise<void>;
}
