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

/** Apps and phones of people with the name of a search engine: of Google, Bing, Baidu and Yandex. Their browsers are no bots. */
const APPS =
  /Google\/google|Google(?:App\/|WV\/| Pixel)|BingSapphire\/|baidu(?:boxapp|browser)\/|\(Baidu; |YandexSearch(?:Browser)?\//gi;

/** Whether a user agent belongs to a bot; an empty one does. */
export function isBotAgent(userAgent: string): boolean {
  if (userAgent.trim() === '') return true;
  const tested = userAgent.replace(APPS, '');
  return BOT_WORDS.test(tested) || isbot(tested);
}
