/** Fields whose values contain no data about visitors or customers. */
const SHOWN_FIELDS = new Set([
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
  if (SHOWN_FIELDS.has(name) && (typeof value === 'number' || typeof value === 'string')) return value;
  return typeof value === 'string' ? `${value.length} characters, not shown` : 'not shown';
}

/** The data of a job for the queue page, without personal data. */
export function jobSummary(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return 'not shown';
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, summaryOf(name, value)]));
}

/** Fields with error messages and results, which may contain personal data. */
const HIDDEN_FIELDS = new Set(['failedReason', 'stacktrace', 'deferredFailure', 'returnValue', 'returnvalue']);

/** Replaces error messages and results of jobs in a response of the queue page, because they may contain personal data. */
export function hideErrorsAndResults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hideErrorsAndResults);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    if (!HIDDEN_FIELDS.has(name)) return [name, hideErrorsAndResults(inner)];
    return [name, Array.isArray(inner) ? [] : inner && 'not shown'];
  });
  return Object.fromEntries(entries);
}
