/** Fields whose values say nothing of visitors or customers. */
const SHOWN = new Set([
  'v',
  'kind',
  'version',
  'rowCount',
  'event',
  'workspaceId',
  'webhookId',
  'attempt',
  'at',
  'index',
]);

function summaryOf(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return `${value.length} entries, not shown`;
  if (SHOWN.has(name) && (typeof value === 'number' || typeof value === 'string')) return value;
  return typeof value === 'string' ? `${value.length} characters, not shown` : 'not shown';
}

/** A job's data without what people wrote, who they are and where they were. */
export function jobSummary(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return 'not shown';
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, summaryOf(name, value)]));
}

/** Messages of errors quote what was wrong. */
const HIDDEN = new Set(['failedReason', 'stacktrace', 'deferredFailure', 'returnValue', 'returnvalue']);

/** An answer of the queue page without messages of errors. */
export function withoutMessages(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMessages);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    if (!HIDDEN.has(name)) return [name, withoutMessages(inner)];
    return [name, Array.isArray(inner) ? [] : inner && 'not shown'];
  });
  return Object.fromEntries(entries);
}
