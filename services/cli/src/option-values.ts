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

/** The text of an option; undefined when it is not given. @throws CommandError when it is empty or repeated */
export function optionalText(name: string, value: RawOption): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'boolean' || value === '') throw new CommandError(`--${name} needs a value`);
  if (typeof value === 'object') throw new CommandError(`--${name} must not be repeated`);
  return String(value);
}

/** The text of an option. @throws CommandError when it is missing, empty or repeated */
export function requiredText(name: string, value: RawOption): string {
  const text = optionalText(name, value);
  if (text === undefined) throw new CommandError(`--${name} is required`);
  return text;
}

const HOST_AND_PORT = /^([^\s/:@?#]+)(:\d{1,5})?$/;
const HOST = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** A domain for links, in lower case and punycode, with its port if one is given. @throws CommandError */
export function domainOption(name: string, value: RawOption): string | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  const [, host = '', port = ''] = HOST_AND_PORT.exec(text.trim()) ?? [];
  const ascii = domainToASCII(host.toLowerCase());
  if (!HOST.test(ascii)) throw new CommandError(`--${name} must be a host name, such as go.acme.com`);
  return ascii + port;
}

/** An http(s) URL, or an empty text to remove it; undefined when the option is not given. @throws CommandError */
export function urlOption(name: string, value: RawOption): string | undefined {
  if (value === '') return '';
  const text = optionalText(name, value);
  if (text === undefined || (/^https?:\/\//i.test(text) && URL.canParse(text))) return text;
  throw new CommandError(`--${name} must be a URL, such as https://acme.com`);
}

/** The items of a comma-separated or repeated option; undefined when it is not given. */
export function textList(value: RawOption): string[] | undefined {
  if (value === undefined || value === true) return undefined;
  const values = typeof value === 'object' ? value : [value];
  return values.flatMap((entry) => String(entry).split(/[\s,]+/)).filter((entry) => entry !== '');
}

/** Larger sizes of the plan business, which Waymark does not distinguish. */
const BUSINESS_SIZE = /^business (?:plus|max|extra)$/;

/** The plan of an option; undefined when it is not given. @throws CommandError for an unknown plan */
export function planOption(value: RawOption): Plan | undefined {
  const text = optionalText('plan', value);
  const plan = text !== undefined && BUSINESS_SIZE.test(text) ? 'business' : PLANS.find((known) => known === text);
  if (text !== undefined && plan === undefined) throw new CommandError(`--plan must be one of ${PLANS.join(', ')}`);
  return plan;
}

/** The privacy signal of an option; undefined when it is not given. @throws CommandError for an unknown one */
export function privacySignalOption(value: RawOption): PrivacySignal | undefined {
  const text = optionalText('privacy-signal', value);
  const signal = PRIVACY_SIGNALS.find((known) => known === text);
  if (text !== undefined && signal === undefined) {
    throw new CommandError(`--privacy-signal must be one of ${PRIVACY_SIGNALS.join(', ')}`);
  }
  return signal;
}

/** The scopes of an option; empty when it is not given. @throws CommandError for an unknown scope */
export function scopesOption(value: RawOption): Scope[] {
  return (textList(value) ?? []).map((text) => {
    const scope = SCOPES.find((known) => known === text);
    if (scope === undefined) throw new CommandError(`"${text}" is not a scope; scopes are: ${SCOPES.join(', ')}`);
    return scope;
  });
}

/** A whole number, or null for `plan`, which means the limit of the plan; undefined when the option is not given. @throws CommandError */
export function limitOption(name: string, value: RawOption, minimum: number): number | null | undefined {
  const text = optionalText(name, value);
  if (text === undefined) return undefined;
  if (text === 'plan') return null;
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= minimum) return number;
  throw new CommandError(`--${name} must be a whole number from ${minimum}, or "plan" for the plan's limit`);
}

/**
 * The days that a workspace keeps data, or null for `installation`, which means the setting of the installation; undefined when the option
 * is not given.
 *
 * @param installationDays days that no workspace may exceed; undefined = no limit
 * @throws CommandError
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

/**
 * Applies an option such as `linksPerMonth=1000,domains=unlimited,tags=plan` to the quotas of a workspace that differ from its plan.
 *
 * @returns undefined when the option is not given
 * @throws CommandError
 */
export function applyQuotas(value: RawOption, current: Partial<Quotas>): Partial<Quotas> | undefined {
  const entries = textList(value);
  if (entries === undefined) return undefined;
  const merged: QuotaChange = Object.assign({ ...current }, ...entries.map(quotaChange));
  return Object.fromEntries(Object.entries(merged).filter(([, quota]) => quota !== 'plan'));
}
