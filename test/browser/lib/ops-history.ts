import type { ClickHouseClient } from '@waymark/clickhouse';

const KINDS = "['click', 'lead', 'sale', 'customer']";

/** A deterministic pseudo-random number from 0 to 1. */
const noise = (salt: string) => `(cityHash64('${salt}', number) % 1000) / 1000`;
/** The traffic level, from 0.4 to 1.6: a slow wave with ripples. */
const traffic = `(1 + 0.45 * sin(number / 41) + 0.15 * sin(number / 7))`;

const moment = (everySeconds: number) => `now64(3) - toIntervalSecond(number * ${everySeconds} + 3)`;

/** Statements that insert the metrics of a busy installation for the last `seconds`. */
function statements(seconds: number): string[] {
  const every10s = `FROM numbers(${Math.floor(seconds / 10)})`;
  const everyMinute = `FROM numbers(${Math.floor(seconds / 60)})`;
  const sample = (metric: string, value: string) =>
    `INSERT INTO ops_samples SELECT ${moment(10)}, 'writer', 'a:1', '${metric}', ${value} ${every10s}`;
  return [
    `INSERT INTO ops_batches SELECT ${moment(5)}, 'a:1', kind, 'stored', rows, rows * 640, 1, 20 + 80 * ${noise('gather')},
       9 + 6 * ${noise('insert')} + if(number % 97 = 0, 90, 0), 30 + 20 * ${noise('least')},
       120 + 90 * ${noise('lag')} + if(number % 97 = 0, 400, 0)
     FROM (SELECT number, arrayJoin(${KINDS}) AS kind,
         toUInt32(${traffic} * 900 * multiIf(kind = 'click', 1, kind = 'lead', 0.08, kind = 'sale', 0.03, 0.02) + 1) AS rows
       FROM numbers(${Math.floor(seconds / 5)}))`,
    `INSERT INTO ops_workspace_minutes
     SELECT toStartOfMinute(${moment(60)}), workspace, kind, ${traffic} * 6000 / workspace * if(kind = 'click', 1, 0.05) + 1, 240
     FROM (SELECT number, arrayJoin([1, 2, 3, 4, 5]) AS workspace, arrayJoin(['click', 'lead', 'sale']) AS kind ${everyMinute})`,
    ...['click', 'lead', 'sale', 'customer'].flatMap((kind, index) => [
      sample(`queue_waiting:${kind}`, `floor(${traffic} * 9 / ${index + 1} + 3 * ${noise(kind)})`),
      sample(`queue_oldest_ms:${kind}`, `${traffic} * 60 / ${index + 1} + 20 * ${noise(`${kind} age`)}`),
    ]),
    sample('dead_letters', 'if(number < 90, 2, 0)'),
    sample('event_loop_p99_ms', `21 + 4 * ${noise('loop')}`),
    sample('redis_used_bytes', `134217728 * (1 + 0.2 * ${traffic})`),
    sample('redis_limit_bytes', '536870912'),
    `INSERT INTO ops_requests
     SELECT toStartOfMinute(${moment(60)}), 'http', route, plan, status, counted, if(status = 429, counted, 0), counted * 4, 60,
       [counted * 0.2, counted * 0.3, counted * 0.3, counted * 0.1, counted * 0.06 * ${traffic}, counted * 0.03, counted * 0.01, 0, 0, 0, 0, 0, 0, 0]
     FROM (SELECT number, arrayJoin([
           ('GET /:link', '', 302, 10000), ('POST /track/lead', 'pro', 200, 800), ('GET /events', 'business', 200, 300),
           ('GET /events', 'business', 429, 40), ('GET /links/:linkId', 'pro', 404, 60), ('POST /track/sale', 'pro', 429, 12),
           ('GET /analytics', 'enterprise', 500, 1)]) AS requested,
         requested.1 AS route, requested.2 AS plan, requested.3 AS status,
         toUInt32(requested.4 * ${traffic} * if(status >= 400, ${noise('refused')}, 1)) AS counted ${everyMinute})`,
    `INSERT INTO ops_slow_queries
     SELECT now64(3) - 200, 1, 'GET /events', 1840, 4200000, 812000000, ''
     UNION ALL SELECT now64(3) - 900, 2, 'GET /events', 1210, 90000, 90000, ''
     UNION ALL SELECT now64(3) - 600, 1, 'GET /analytics', 20004, 91000000, 2400000000, 'TIMEOUT_EXCEEDED'`,
    `INSERT INTO webhook_deliveries (workspace_id, timestamp, webhook_id, event_id, event, attempt, url, status, elapsed_ms)
     SELECT 1, ${moment(7)}, 9, concat('evt_', toString(number)), 'lead.created', 1, 'https://hooks.example.com', if(number % 23 = 0, 503, 200), 80
     FROM numbers(${Math.floor(seconds / 7)})`,
    `INSERT INTO workspaces SELECT number, number, 1, 0, ['acme', 'northwind', 'globex', 'initech', 'umbrella'][number], 'pro', now64(3), '{}'
     FROM numbers(1, 5)`,
    `INSERT INTO ops_samples SELECT now64(3) - 3500, 'writer', 'a:1', 'table_bytes:click_events', 1000`,
  ];
}

/** Fills the `ops_` tables as if an installation had been busy for the last `seconds`. */
export async function writeOpsHistory(client: ClickHouseClient, seconds: number): Promise<void> {
  for (const query of statements(seconds)) await client.command({ query });
}
