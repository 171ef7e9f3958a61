import type { Settings } from './settings.js';

const MASK = '***';
const SECRETS: ReadonlySet<string> = new Set([
  'clickhousePassword',
  'moveToPassword',
  'importCredential',
  'instanceKey',
  'instanceKeyNext',
  'instanceKeyPrevious',
  'adminKey',
  'adminKeyPrevious',
  'otlpHeaders',
] satisfies (keyof Settings)[]);

/** The URL with its password and the value of every query parameter masked. A text that is no valid URL is masked as a whole. */
export function maskUrl(text: string): string {
  if (!URL.canParse(text)) return MASK;
  const url = new URL(text);
  if (url.password !== '') url.password = MASK;
  for (const name of new Set(url.searchParams.keys())) url.searchParams.set(name, MASK);
  return url.href.replace(/\/$/, '');
}

function describe(name: string, value: unknown): unknown {
  if (value === undefined) return null;
  if (SECRETS.has(name)) return MASK;
  if (Array.isArray(value)) return value.map((entry) => describe(name, entry));
  return typeof value === 'string' && value.includes('://') ? maskUrl(value) : value;
}

/** The effective settings for the log line at start-up, with passwords and keys masked; null = not set. */
export function describeSettings(settings: Settings): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, describe(name, value)]));
}
