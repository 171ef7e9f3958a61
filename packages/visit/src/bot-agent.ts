import { isbot } from 'isbot';

/**
 * Words that mark a user agent as a bot wherever they occur, in addition to the patterns of `isbot`. CUBOT is a phone brand.
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

/** In-app browsers on Pixel phones include this device brand, which is not a bot. */
const PIXEL_BRAND = /Google\/google/g;

/** Whether a user agent belongs to a bot; an empty one does. */
export function isBotAgent(userAgent: string): boolean {
  if (userAgent.trim() === '') return true;
  const tested = userAgent.replace(PIXEL_BRAND, '');
  return BOT_WORDS.test(tested) || isbot(tested);
}
