import { describe, expect, it } from 'vitest';
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
      `Mozilla/5.0 (Linux; Android 16; Pixel 10; wv) ${BLINK} Version/4.0 Chrome/146.0 Mobile Safari/537.36 MetaIAB Facebook`,
      'Mobile',
      'Facebook',
      'Android',
    ],
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
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox One) ${BLINK} Chrome/130.0 Safari/537.36 Edg/130.0`,
      'Console',
      'Edge',
      'Xbox',
    ],
    [
      `Mozilla/5.0 (Linux; U; Android 14; zh-cn; PJD110) ${BLINK} Version/4.0 Chrome/109.0 MQQBrowser/14.9 Mobile Safari/537.36`,
      'Mobile',
      'QQBrowser',
      'Android',
    ],
    [
      `Mozilla/5.0 (Linux; U; Android 14; en-us; CPH2581) ${BLINK} Version/4.0 Chrome/115.0 Mobile Safari/537.36 HeyTapBrowser/45.8.2`,
      'Mobile',
      'HeyTap',
      'Android',
    ],
    [
      'Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16',
      'Mobile',
      'Opera Mini',
      'Android',
    ],
    [`${IPHONE} OPiOS/16.0.15.124050 Mobile/15E148 Safari/9537.53`, 'Mobile', 'Opera Mini', 'iOS'],
    [
      `Mozilla/5.0 (Linux; Android 12; HarmonyOS; NOH-AN00) ${BLINK} Chrome/114.0 HuaweiBrowser/14.0.5 Mobile Safari/537.36`,
      'Mobile',
      'Huawei Browser',
      'Android',
    ],
    [
      `Mozilla/5.0 (X11; Linux x86_64; Quest 3) ${BLINK} OculusBrowser/35.1 Chrome/130.0 VR Safari/537.36`,
      'Desktop',
      'Oculus Browser',
      'Linux',
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
