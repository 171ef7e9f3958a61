import { isbot } from 'isbot';

/**
 * Words that make an agent a bot wherever they stand. The maintained list of `isbot` has the rest. CUBOT is a maker of phones.
 */
const BOT_WORDS = new RegExp(
  [
    '(?<!cu)bot',
    'crawler',
    'spider',
    'http',
    'scraper',
    'fetch',
    'curl',
    'wget',
    'python',
    'node',
    'ruby',
    'axios',
    'postman',
    'headlesschrome',
    'facebookexternalhit',
    'meta-external',
    'whatsapp',
    'google',
    'baidu',
    'bing',
    'msn',
    'yandex',
    'slurp',
    'iframely',
    'embedly',
    'chatgpt',
    'perplexity',
  ].join('|'),
  'i',
);

/** In-app browsers on Pixel phones name maker and brand of the device. */
const PIXEL_BRAND = /Google\/google/g;

/** Whether a user agent is a program's rather than a person's. An empty one is. */
export function isBotAgent(userAgent: string): boolean {
  if (userAgent.trim() === '') return true;
  const tested = userAgent.replace(PIXEL_BRAND, '');
  return BOT_WORDS.test(tested) || isbot(tested);
}
