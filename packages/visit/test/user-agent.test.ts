import { describe, expect, it } from 'vitest';
import { isBotAgent } from '../src/index.js';
import { createAgentReader } from '../src/user-agent.js';

const read = createAgentReader();
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';
const BLINK = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IPHONE = `Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) ${WEBKIT}`;
const WINDOWS = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${BLINK} Chrome/124.0.0.0 Safari/537.36`;
const PIXEL = `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${BLINK} Chrome/124.0.0.0 Mobile Safari/537.36`;

describe('user agent', () => {
  it.each([
    [`${IPHONE} Version/17.4 Mobile/15E148 Safari/604.1`, 'Mobile', 'Mobile Safari', 'iOS'],
    [`${IPHONE} CriOS/123.0.6312.52 Mobile/15E148 Safari/604.1`, 'Mobile', 'Chrome', 'iOS'],
    [`${IPHONE} FxiOS/124.0 Mobile/15E148 Safari/605.1.15`, 'Mobile', 'Firefox', 'iOS'],
    [`${IPHONE} GSA/307.0 Mobile/15E148 Safari/604.1`, 'Mobile', 'GSA', 'iOS'],
    [`${IPHONE} Mobile/20A362 Instagram 250.0.0.14 (iPhone13,2; iOS 16_0)`, 'Mobile', 'Instagram', 'iOS'],
    [`${IPHONE} Mobile/20A362 [FBAN/FBIOS;FBDV/iPhone13,2;FBSN/iOS]`, 'Mobile', 'Facebook', 'iOS'],
    [
      `Mozilla/5.0 (iPad; CPU OS 16_3 like Mac OS X) ${WEBKIT} Version/16.3 Mobile/15E148 Safari/604.1`,
      'Tablet',
      'Mobile Safari',
      'iOS',
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/17.4 Safari/605.1.15`,
      'Desktop',
      'Safari',
      'Mac OS',
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${BLINK} Chrome/124.0.0.0 Safari/537.36`,
      'Desktop',
      'Chrome',
      'Mac OS',
    ],
    [WINDOWS, 'Desktop', 'Chrome', 'Windows'],
    [`${WINDOWS} Edg/124.0.0.0`, 'Desktop', 'Edge', 'Windows'],
    [`${WINDOWS} OPR/109.0.0.0`, 'Desktop', 'Opera', 'Windows'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:125.0) Gecko/20100101 Firefox/125.0',
      'Desktop',
      'Firefox',
      'Windows',
    ],
    ['Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko', 'Desktop', 'IE', 'Windows'],
    [PIXEL, 'Mobile', 'Chrome', 'Android'],
    [
      `Mozilla/5.0 (Linux; Android 13; Pixel 6a; wv) ${BLINK} Version/4.0 Chrome/110.0 Mobile Safari/537.36`,
      'Mobile',
      'Chrome WebView',
      'Android',
    ],
    [
      `Mozilla/5.0 (Linux; Android 13; SM-X906C) ${BLINK} Chrome/80.0.3987.119 Safari/537.36`,
      'Tablet',
      'Chrome',
      'Android',
    ],
    [
      `Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S918B) ${BLINK} SamsungBrowser/21.0 Chrome/110.0 Mobile Safari/537.36`,
      'Mobile',
      'Samsung Internet',
      'Android',
    ],
    [`Mozilla/5.0 (X11; Linux x86_64) ${BLINK} Chrome/124.0.0.0 Safari/537.36`, 'Desktop', 'Chrome', 'Linux'],
    ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:125.0) Gecko/20100101 Firefox/125.0', 'Desktop', 'Firefox', 'Ubuntu'],
    [
      `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${BLINK} Chrome/124.0 Safari/537.36`,
      'Desktop',
      'Chrome',
      'Chromium OS',
    ],
    [
      `Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) ${BLINK} SamsungBrowser/3.0 Chrome/76.0 TV Safari/537.36`,
      'Smarttv',
      'Samsung Internet',
      'Tizen',
    ],
    [
      `Mozilla/5.0 (Linux; Android 5.1.1; AFTS) ${BLINK} Silk/108.4.6 like Chrome/108.0 Safari/537.36`,
      'Smarttv',
      'Silk',
      'Android',
    ],
    [
      `Mozilla/5.0 (PlayStation; PlayStation 5/2.26) ${WEBKIT} Version/13.0 Safari/605.1.15`,
      'Console',
      'Safari',
      'PlayStation',
    ],
    ['Something/1.0', 'Desktop', 'Unknown', 'Unknown'],
    ['', 'Desktop', 'Unknown', 'Unknown'],
  ])('%s', (userAgent, device, browser, os) => {
    expect(read(userAgent)).toMatchObject({ device, browser, os });
  });

  it('reads the same agent from its cache', () => {
    expect(read(WINDOWS)).toBe(read(WINDOWS));
  });

  it('is fast for user agents crafted to be slow', () => {
    const started = performance.now();
    for (const piece of ['Mozilla/5.0 ', '(', 'Android ', 'os 1_', 'Safari/', ' Version/1.'])
      read(piece.repeat(10_000));
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('bot detection', () => {
  it.each([
    '',
    '   ',
    'curl/8.5.0',
    'Wget/1.21',
    'python-requests/2.31',
    'axios/1.6.0',
    'node-fetch/1.0',
    'PostmanRuntime/7.36',
    'WhatsApp/2.23.20.0 A',
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'meta-externalagent/1.1',
    'Slackbot-LinkExpanding 1.0',
    'TelegramBot (like TwitterBot)',
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    `Mozilla/5.0 (X11; Linux x86_64) ${BLINK} HeadlessChrome/124.0.0.0 Safari/537.36`,
    'Mozilla/5.0 (compatible; YandexMetrika/2.0)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    'Mozilla/5.0 (Linux; Android 7.0) AppleWebKit/537.36 Chrome/127.0 Mobile Safari/537.36 (compatible; Google-Read-Aloud)',
    'GoogleOther',
    'Google',
    'Iframely/1.3.1',
    'Embedly/0.2',
    'ChatGPT-User/1.0',
    'PerplexityBot/1.0',
    'Ruby',
    'Go-http-client/1.1',
  ])('%s is a bot', (userAgent) => {
    expect(isBotAgent(userAgent)).toBe(true);
  });

  it.each([
    WINDOWS,
    PIXEL,
    `${IPHONE} Version/17.4 Mobile/15E148 Safari/604.1`,
    `${IPHONE} GSA/307.0 Mobile/15E148 Safari/604.1`,
    `${PIXEL} Instagram 269.0.0.18.75 Android (33/13; 420dpi; 1080x2209; Google/google; Pixel 6a; bluejay; en_US)`,
    `Mozilla/5.0 (Linux; Android 9; CUBOT_X19) ${BLINK} Chrome/80.0.3987.119 Mobile Safari/537.36`,
    `Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) ${BLINK} Version/4.0 Chrome/123.0 Mobile Safari/537.36 GoogleApp/15.11.36.28.arm64`,
    `Mozilla/5.0 (Linux; Android 14; Google Pixel 8) ${BLINK} Chrome/123.0.0.0 Mobile Safari/537.36`,
    `${IPHONE} Version/16.0 Mobile/15E148 Safari/605.1.15 BingSapphire/31.4.430829001`,
    `${IPHONE} Mobile/15E148 SP-engine/2.94.0 main%2F1.0 baiduboxapp/13.59.0.10 (Baidu; P2 17.4) NABar/1.0`,
    `Mozilla/5.0 (Linux; arm_64; Android 13) ${BLINK} Chrome/114.0 YaBrowser/23.7 (lite) Mobile Safari/537.36 YandexSearch/23.80`,
  ])('%s is a person', (userAgent) => {
    expect(isBotAgent(userAgent)).toBe(false);
  });
});
