import { scriptVersion } from '@waymark/browser-script';
import { SCRIPT_FEATURES, type ScriptFeature, scriptPath } from '@waymark/contract';
import { CommandError } from '../command-error.js';
import { oneOf, optionalText, type RawOption, requiredText, textList } from '../option-values.js';
import type { CommandResult } from '../output.js';

export interface ScriptOptions {
  readonly host?: RawOption;
  readonly variant?: RawOption;
  readonly publishableKey?: RawOption;
  readonly integrity?: boolean;
}

/** The origin that serves the script. A host without a scheme gets `https://`. @throws CommandError */
function originOption(value: RawOption): string {
  const text = requiredText('host', value);
  const address = text.includes('://') ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (!isOrigin)
    throw new CommandError('--host must be a host such as go.acme.com, or an origin such as http://localhost:3001');
  return url.origin;
}

function featuresOption(value: RawOption): ScriptFeature[] {
  return (textList('variant', value) ?? []).map((name) => oneOf(SCRIPT_FEATURES, name, '--variant must be a list of'));
}

function keyOption(value: RawOption): string | undefined {
  const key = optionalText('publishable-key', value);
  if (key === undefined || /^dub_pk_[\w-]{16,64}$/.test(key)) return key;
  throw new CommandError('--publishable-key must be a publishable key, dub_pk_…: everybody can read it in the page');
}

/**
 * Prints the tag that loads the browser script. With `--integrity` it is that of the current version only: browsers refuse every other one, such
 * as that of the next release. Does not access any store.
 */
export async function showScript(options: ScriptOptions): Promise<CommandResult> {
  const origin = originOption(options.host);
  const key = keyOption(options.publishableKey);
  const chosen = featuresOption(options.variant);
  const path = scriptPath(key === undefined ? chosen : [...chosen, 'conversion-tracking']);
  const keyText = key === undefined ? '' : ` data-publishable-key="${key}"`;
  if (!options.integrity) {
    const src = `${origin}${path}`;
    const tag = `<script defer src="${src}"${keyText}></script>`;
    return { data: { src, tag }, lines: [tag] };
  }
  const { address, integrity } = scriptVersion(path);
  const src = `${origin}${address}`;
  const tag = `<script defer src="${src}" integrity="${integrity}" crossorigin="anonymous"${keyText}></script>`;
  return { data: { src, integrity, tag }, lines: [tag] };
}
