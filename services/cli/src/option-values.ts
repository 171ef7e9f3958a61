import { domainToASCII } from 'node:url';
import {
  PLANS,
  type Plan,
  PRIVACY_SIGNALS,
  type PrivacySignal,
  type Quotas,
  quotasSchema,
  RETENTION_DAYS_MAX,
  SCOPES,
  type Scope,
} from '@waymark/contract';
import { CommandError } from './command-error.js';

/** The value of an option from the command line parser; repeated options are arrays. */
export type RawOption = string | number | boolean | readonly (string | number | boolean)[] | undefined;

export function optionalText(name: string, value: RawOption): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'boolean' || value === '') throw new CommandError(`--${name} needs a value`);
  if (typeof value === 'object') throw new CommandError(`--${name} must not be repeated`);
  return String(value);
}

export function requiredText(name: string, value: RawOption): string {
  const text = optionalText(name, value);
  if (text === undefined) throw new CommandError(`--${name} is required`);
  return text;
}

const HOST_AND_PORT = /^([^\s/:@?#]+)(:\d{1,5})?$/;
const HOST = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** A domain for links, in lower case and punycode, with its port when it is not the default one. */
export function domainOption(name: string, value: RawOption): string | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  const [, host = '', port = ''] = HOST_AND_PORT.exec(text.trim()) ?? [];
  const ascii = domainToASCII(host.toLowerCase());
  if (!HOST.test(ascii)) throw new CommandError(`--${name} must be a host name, such as go.acme.com`);
  return ascii + port;
}

/** An http(s) URL, or an empty text for none. */
export function urlOption(name: string, value: RawOption): string | undefined {
  if (value === '') return '';
  const text = optionalText(name, value);
  if (text === undefined || (/^https?:\/\//i.test(text) && URL.canParse(text))) return text;
  throw new CommandError(`--${name} must be a URL, such as https://acme.com`);
}

/** A comma-separated list, or a repeated option. */
export function textList(value: RawOption): string[] | undefined {
  if (value === undefined || value === true) return undefined;
  const values = typeof value === 'object' ? value : [value];
  return values.flatMap((entry) => String(entry).split(/[\s,]+/)).filter((entry) => entry !== '');
}

/** Larger sizes of the plan business, which Waymark does not distinguish. */
const BUSINESS_SIZE = /^business (?:plus|max|extra)$/;

export function planOption(value: RawOption): Plan | undefined {
  const text = optionalText('plan', value);
  const plan = text !== undefined && BUSINESS_SIZE.test(text) ? 'business' : PLANS.find((known) => known === text);
  if (text !== undefined && plan === undefined) throw new CommandError(`--plan must be one of ${PLANS.join(', ')}`);
  return plan;
}

export function privacySignalOption(value: RawOption): PrivacySignal | undefined {
  const text = optionalText('privacy-signal', value);
  const signal = PRIVACY_SIGNALS.find((known) => known === text);
  if (text !== undefined && signal === undefined) {
    throw new CommandError(`--privacy-signal must be one of ${PRIVACY_SIGNALS.join(', ')}`);
  }
  return signal;
}

export function scopesOption(value: RawOption): Scope[] {
  return (textList(value) ?? []).map((text) => {
    const scope = SCOPES.find((known) => known === text);
    if (scope === undefined) throw new CommandError(`"${text}" is not a scope; scopes are: ${SCOPES.join(', ')}`);
    return scope;
  });
}

/** A whole number, or `plan` for the limit of the plan (null). */
export function limitOption(name: string, value: RawOption, minimum: number): number | null | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  if (text === 'plan') return null;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= minimum) return number;
  throw new CommandError(`--${name} must be a whole number from ${minimum}, or "plan" for the plan's limit`);
}

/**
 * Days that a workspace keeps data, or `installation` for as long as all do (null).
 *
 * @param installationDays what no workspace can exceed; undefined = for ever
 */
export function retentionOption(
  name: string,
  value: RawOption,
  minimum: number,
  installationDays: number | undefined,
): number | null | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  if (text === 'installation') return null;
  const [days, maximum] = [Number(text), installationDays ?? RETENTION_DAYS_MAX];
  if (/^\d+$/.test(text) && days >= minimum && days <= maximum) return days;
  const allowed = minimum > maximum ? 'less than the installation allows' : `from ${minimum} to ${maximum}`;
  throw new CommandError(`--${name} must be a whole number ${allowed}, or "installation"`);
}

type QuotaChange = { [K in keyof Quotas]?: number | null | 'plan' };

const QUOTA_NAMES = Object.keys(quotasSchema.shape) as (keyof Quotas)[];

function quotaChange(entry: string): QuotaChange {
  const [name, value = ''] = entry.split('=');
  const quota = QUOTA_NAMES.find((known) => known === name);
  if (quota === undefined) throw new CommandError(`"${name}" is not a quota; quotas are: ${QUOTA_NAMES.join(', ')}`);
  if (value === 'plan') return { [quota]: 'plan' };
  if (value === 'unlimited') return { [quota]: null };
  if (/^\d{1,15}$/.test(value)) return { [quota]: Number(value) };
  throw new CommandError(`${name} must be a whole number, "unlimited", or "plan" for the plan's quota`);
}

/** Applies `linksPerMonth=1000,domains=unlimited,tags=plan` to the quota overrides of a workspace. */
export function applyQuotas(value: RawOption, current: Partial<Quotas>): Partial<Quotas> | undefined {
  const entries = textList(value);
  if (entries === undefined) return undefined;
  const merged: QuotaChange = Object.assign({ ...current }, ...entries.map(quotaChange));
  return Object.fromEntries(Object.entries(merged).filter(([, quota]) => quota !== 'plan'));
}
