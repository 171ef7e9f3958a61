import Bowser from 'bowser';
import { LRUCache } from 'lru-cache';
import { isBotAgent } from './bot-agent.js';
import { UNKNOWN } from './place.js';

/** A parsed user agent, with the names that are stored. */
export interface Agent {
  readonly isBot: boolean;
  readonly device: string;
  readonly browser: string;
  readonly os: string;
}

/** Stored names of browsers for which `bowser` uses another name. */
const BROWSER_NAMES: Readonly<Record<string, string>> = {
  'Amazon Silk': 'Silk',
  Focus: 'Firefox Focus',
  Generic: UNKNOWN,
  'Google Search': 'GSA',
  'HeyTap Browser': 'HeyTap',
  'Internet Explorer': 'IE',
  'Microsoft Edge': 'Edge',
  Miui: 'MIUI Browser',
  'NAVER Whale Browser': 'Whale',
  'QQ Browser': 'QQBrowser',
  'Samsung Internet for Android': 'Samsung Internet',
  'UC Browser': 'UCBrowser',
  'Yandex Browser': 'Yandex',
};

const OS_NAMES: Readonly<Record<string, string>> = {
  'Chrome OS': 'Chromium OS',
  macOS: 'Mac OS',
  'PlayStation 4': 'PlayStation',
  WebOS: 'webOS',
};

const DEVICE_NAMES: Readonly<Record<string, string>> = { mobile: 'Mobile', tablet: 'Tablet', tv: 'Smarttv' };

/** Browsers that `bowser` takes for Safari, Chrome or Opera. Most are those of apps. */
const OTHER_BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bFB(?:AN|AV|_IAB)\/|\bMetaIAB Facebook\b/, 'Facebook'],
  [/\bInstagram\b/, 'Instagram'],
  [/\b(?:musical_ly|BytedanceWebview|TikTok)\b/i, 'TikTok'],
  [/\bSnapchat\b/, 'Snapchat'],
  [/\bLinkedInApp\b/, 'LinkedIn'],
  [/\bTwitter(?: for |Android)/, 'Twitter'],
  [/\bPinterest\b/, 'Pinterest'],
  [/\bLine\//, 'Line'],
  [/\bKAKAOTALK\b/i, 'KAKAOTALK'],
  [/\bOpera Mini\/|\bOPiOS\//, 'Opera Mini'],
  [/\bHuaweiBrowser\//i, 'Huawei Browser'],
  [/\bOculusBrowser\//i, 'Oculus Browser'],
];

const CONSOLES: readonly (readonly [RegExp, string])[] = [
  [/playstation/i, 'PlayStation'],
  [/\bxbox\b/i, 'Xbox'],
  [/nintendo/i, 'Nintendo'],
];

const TELEVISIONS = /\b(?:smart-?tv|googletv|appletv|apple tv|hbbtv|roku|crkey|aft[a-z]{1,2}\d?|bravia)\b/i;
const DISTRIBUTIONS = /\b(Ubuntu|Fedora|Debian)\b/;

/** Limit on the parsed part of a user agent, which bounds the cost of the patterns. No real one is longer. */
const PARSED_CHARS_MAX = 1024;

function firstMatch<T>(table: readonly (readonly [RegExp, T])[], text: string): readonly [RegExp, T] | undefined {
  return table.find(([pattern]) => pattern.test(text));
}

function browserName(userAgent: string, name: string | undefined, os: string): string {
  const other = firstMatch(OTHER_BROWSERS, userAgent);
  if (other !== undefined) return other[1];
  if (name === undefined || name === '') return UNKNOWN;
  if (name === 'Safari' && os === 'iOS') return 'Mobile Safari';
  if (name === 'Chrome' && userAgent.includes('; wv)')) return 'Chrome WebView';
  return BROWSER_NAMES[name] ?? name;
}

function parseAgent(userAgent: string): Agent {
  const isBot = isBotAgent(userAgent);
  if (userAgent === '') return { isBot, device: 'Desktop', browser: UNKNOWN, os: UNKNOWN };
  const parsed = Bowser.parse(userAgent);
  const gameConsole = firstMatch(CONSOLES, userAgent);
  const parsedOs = parsed.os.name ?? '';
  const os =
    gameConsole?.[1] ??
    (parsedOs === 'Linux' ? (DISTRIBUTIONS.exec(userAgent)?.[1] ?? 'Linux') : (OS_NAMES[parsedOs] ?? parsedOs));
  const platform = DEVICE_NAMES[parsed.platform.type ?? ''] ?? 'Desktop';
  const device = gameConsole !== undefined ? 'Console' : TELEVISIONS.test(userAgent) ? 'Smarttv' : platform;
  return { isBot, device, browser: browserName(userAgent, parsed.browser.name, os), os: os === '' ? UNKNOWN : os };
}

const CACHED_MAX = 5000;

/** Parses user agents. Results are cached, because parsing costs as much as the rest of a redirect. */
export function createAgentReader(): (userAgent: string) => Agent {
  const cache = new LRUCache<string, Agent>({ max: CACHED_MAX });
  return (userAgent) => {
    const known = cache.get(userAgent);
    if (known !== undefined) return known;
    const agent = parseAgent(userAgent.slice(0, PARSED_CHARS_MAX));
    cache.set(userAgent, agent);
    return agent;
  };
}
