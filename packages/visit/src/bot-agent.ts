import { isbot } from 'isbot';

/**
 * Words that mark a user agent as a bot wherever they occur, in addition to the patterns of `isbot`.
 */
const BOT_WORDS = new RegExp(
  [
    'bot',
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

/**
 * Parts of the user agents of people that contain such a word, or what `isbot` takes for one: descriptions of phones, mobile networks and
 * screens, and the names of apps. The names of bots are in other parts.
 */
const PEOPLE = new RegExp(
  [
    // The model of a phone, such as `M bot 60`, but not a name with a version, such as `Storebot-Google/1.0`, nor that of a bot.
    'Android [\\d.]+; (?:\\w\\w[-_]\\w\\w; )?(?![^;()/]*(?:Googlebot|HeadlessChrome|crawler))[^;()/]*(?=[;)]| Build/)',
    '(?:CU|FOSSI)BOT',
    'Google (?:Nexus|Pixel)',
    // Instagram and Threads, which name the phone's maker, model and code name: `Google/google`, `ruby`.
    '(?:Instagram|Barcelona) [\\d.]+ Android \\((?:[^()]|\\([^()]*\\))*\\)',
    // Facebook, which names the mobile network and the phone's maker: `FBCR/Google Fi`, `FBMF/Google`.
    '\\bFB[A-Z]{2}/[^;\\]]{0,100}(?=[;\\]])',
    // TikTok, from the store of Google.
    'Channel/google(?:play)?',
    // Alipay, Taobao and Lazada: the screen, `ws:360|0|3.0`, and the origin, `227200@taobao_android_7.10.4`.
    'AlipayDefined\\([^()]*\\)',
    '\\d@[a-z]+_(?:android|iphone|ipad)_',
    // Apps and browsers of search engines.
    'Google(?:App|WV)/',
    'Bing(?:Sapphire|Web)/',
    'baidu(?:boxapp|browser)/\\S*',
    'baidu(?:HD|map_)',
    '\\(Baidu; ',
    'Sogou(?:MSE|MobileBrowser|Search)\\b',
    'YandexSearch(?:Browser)?/',
    // Apps for news.
    '(?:Apple|Opera |Reuters|Smart|Sohu|Walla)News/',
    'News(?:Article|Lite)[/ ]',
  ].join('|'),
  'gi',
);

/** Whether a user agent belongs to a bot; an empty one does. */
export function isBotAgent(userAgent: string): boolean {
  if (userAgent.trim() === '') return true;
  const tested = userAgent.replace(PEOPLE, '');
  return BOT_WORDS.test(tested) || isbot(tested);
}
