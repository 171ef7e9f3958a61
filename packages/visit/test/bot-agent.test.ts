import { describe, expect, it } from 'vitest';
import { isBotAgent } from '../src/index.js';

const BLINK = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const CHROME = `${BLINK} Chrome/124.0.0.0 Safari/537.36`;
const WINDOWS = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}`;
const NEXUS = `Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) ${BLINK} Chrome/124.0.0.0 Mobile Safari/537.36`;

/** A phone with Android in the browser of an app, which adds its name. */
function android(model: string, app = ''): string {
  const browser = `${BLINK} Version/4.0 Chrome/129.0.6668.81 Mobile Safari/537.36`;
  return `Mozilla/5.0 (Linux; Android 13; ${model} Build/TP1A.220624.014; wv) ${browser} ${app}`.trimEnd();
}

/** An iPhone in the browser of an app, which adds its name. */
function iPhone(app: string): string {
  return `Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) ${app}`;
}

const BOTS = [
  '',
  '   ',
  // Programs.
  'curl/8.5.0',
  'Wget/1.21',
  'python-requests/2.31',
  'axios/1.6.0',
  'node-fetch/1.0',
  'PostmanRuntime/7.36',
  'Ruby',
  'Go-http-client/1.1',
  'okhttp/4.12.0',
  'Java/17.0.2',
  'Apache-HttpClient/4.5.14 (Java/11.0.20)',
  'libwww-perl/6.67',
  `Mozilla/5.0 (X11; Linux x86_64) ${BLINK} HeadlessChrome/124.0.0.0 Safari/537.36`,
  // Previews of links.
  'WhatsApp/2.23.20.0 A',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
  'facebookexternalhit/1.1;kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984',
  'meta-externalagent/1.1',
  'meta-externalfetcher/1.1',
  'Slackbot-LinkExpanding 1.0',
  'TelegramBot (like TwitterBot)',
  'Twitterbot/1.0',
  'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
  'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
  'Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)',
  'Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots',
  'Pinterest/0.2 (+https://www.pinterest.com/bot.html)',
  `${WINDOWS} SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com`,
  'Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b',
  'Iframely/1.3.1',
  'Embedly/0.2',
  // Crawlers of search engines, and of others.
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  `${NEXUS} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`,
  `${NEXUS} (compatible; GoogleOther)`,
  `${NEXUS} (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)`,
  `Mozilla/5.0 (Linux; Android 8.0; Pixel 2 Build/OPD3.170816.012; Storebot-Google/1.0) ${BLINK} Chrome/81.0 Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 7.0) ${BLINK} Chrome/127.0 Mobile Safari/537.36 (compatible; Google-Read-Aloud)`,
  'Mozilla/5.0 (compatible; Google-InspectionTool/1.0)',
  'GoogleOther',
  'Google',
  `Mozilla/5.0 (Linux; Android 7.0;) ${BLINK} Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)`,
  `Mozilla/5.0 (Linux; Android 5.0) ${BLINK} Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)`,
  `Mozilla/5.0 (Linux; Android 5.0) ${BLINK} Mobile Safari/537.36 (compatible; TikTokSpider; ttspider-feedback@tiktok.com)`,
  `Mozilla/5.0 (Linux; Android 11; compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/) ${CHROME}`,
  `${android('SM-G892A')} https://deepcrawl.com/bot`,
  // Names in the places where the agents of people have a model or a value.
  'Mozilla/5.0 (Linux; Android 11; Googlebot) AppleWebKit/537.36',
  'Mozilla/5.0 (Linux; Android 9; HeadlessChrome) AppleWebKit/537.36',
  'Dalvik/2.1.0 (Linux; U; Android 9; Googlebot Build/PPR1)',
  'Mozilla/5.0 (Linux; Android 8; Siteimprove crawler) AppleWebKit/537.36',
  'Mozilla/5.0 FBAV/1.0 Googlebot/2.1',
  `Mozilla/5.0 (Linux; Android 11; moto g power (2022)) ${BLINK} Chrome/124.0.0.0 Mobile Safari/537.36 Chrome-Lighthouse`,
  'Mozilla/5.0 (compatible; YandexMetrika/2.0)',
  'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
  'Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)',
  'Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
  `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${BLINK} Chrome/140.0.0.0 newsai/1.0 Safari/537.36`,
  'Mozilla/4.0 (compatible; MSIE 7.0; Windows NT) NewsNow/1.0',
  'ChatGPT-User/1.0',
  `Mozilla/5.0 ${BLINK.slice(0, -1)}; compatible; GPTBot/1.2; +https://openai.com/gptbot)`,
  `Mozilla/5.0 ${BLINK.slice(0, -1)}; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)`,
  'PerplexityBot/1.0',
];

/** The phone in the words of Instagram and Threads: maker, model, code name, processor. */
function instagramPhone(phone: string): string {
  return `Android (33/13; 440dpi; 1080x2400; ${phone}; en_US; 634826385)`;
}

const PEOPLE = [
  WINDOWS,
  `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${BLINK} Chrome/124.0.0.0 Mobile Safari/537.36`,
  iPhone('Version/17.4 Mobile/15E148 Safari/604.1'),
  // Phones whose model has such a word.
  android('M bot 60'),
  android('XBot Senior'),
  android('Spider 8'),
  android('RUBY'),
  android('Python S452'),
  android('Redmi Note 12 Discovery'),
  android('GM Discovery II'),
  android('Radar Deluxe 2'),
  android('Google 2XL'),
  android('CUBOT X50'),
  `Mozilla/5.0 (Linux; Android 9; CUBOT_X19) ${BLINK} Chrome/80.0.3987.119 Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; Android 14; Google Pixel 8) ${BLINK} Chrome/123.0.0.0 Mobile Safari/537.36`,
  `Mozilla/5.0 (Linux; U; Android 7.0; en-us; Ruby 4G Build/NRD90M) ${BLINK} Version/4.0 Chrome/53.0.2785.146 Mobile Safari/537.36`,
  // Instagram and Threads.
  android('Pixel 6a', `Instagram 269.0.0.18.75 ${instagramPhone('Google/google; Pixel 6a; bluejay; bluejay')}`),
  android('22101316G', `Instagram 443.0.0.48.82 ${instagramPhone('Xiaomi/Redmi; 22101316G; ruby; mt6877')}`),
  android('KINGKONG 9', `Instagram 398.0.0.20.80 ${instagramPhone('CUBOT; KINGKONG 9; KINGKONG_9; mt6765')}`),
  android('F102', `Instagram 400.0.0.40.81 ${instagramPhone('FOSSiBOT; F102; F102; mt6789')}`),
  android('moto g(20)', `Instagram 307.0.0.34.111 ${instagramPhone('motorola; moto g(20); java_retail; ums512')}`),
  android('Pixel 8', `Barcelona 349.0.0.29.109 ${instagramPhone('Google/google; Pixel 8; shiba; shiba')}`),
  iPhone('Mobile/22G86 Instagram 330.0.3.29.91 (iPhone14,3; iOS 17_5; en_IR@calendar=gregorian; en; scale=3.00)'),
  // Facebook and Messenger.
  android('SM-A536E', '[FB_IAB/FB4A;FBAV/530.0.0.47.68;]'),
  android('CUBOT NOTE S', '[FB_IAB/FB4A;FBAV/480.0.0.0.0;FBMF/CUBOT;FBBD/CUBOT;FBDV/CUBOT NOTE S;]'),
  android('Pixel 6a', '[FBAN/Orca-Android;FBAV/406.0.0.13.115;FBCR/Google Fi;FBMF/Google;FBBD/google;FBDV/Pixel 6a;]'),
  android('Pixel 10 Pro XL', 'MetaIAB Facebook'),
  '[FBAN/FB4A;FBAV/269.0.0.50.127;FBDM/{density=2.75,width=1080,height=2088};FBCR/Google Fi;FBMF/Google;FBBD/google;FBPN/com.facebook.katana;FBDV/Pixel 3a;FBSV/10;FBOP/1;FBCA/arm64-v8a:;]',
  iPhone('Mobile/15E148 [FBAN/FBIOS;FBAV/481.0.0.48.106;FBDV/iPhone15,2;FBSN/iOS;FBCR/Google Fi;FBOP/5]'),
  // TikTok.
  android(
    'Pixel 7',
    'trill_360504 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/musical_ly app_version/36.5.4 ByteLocale/en ByteFullLocale/en Region/US BytedanceWebview/d8a21c6',
  ),
  android('SM-G973F', 'musical_ly_2024008030 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/musical_ly'),
  iPhone('Mobile/15E148 musical_ly_36.5.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/fr Region/FR'),
  // Other apps.
  android('Pixel 7', 'Telegram-Android/11.14.1 (Google Pixel 7; Android 13; SDK 33; HIGH)'),
  android('F102', 'Telegram-Android/11.14.1 (Fossibot F102; Android 13; SDK 33; HIGH)'),
  android('RMX2001', 'Snapchat/12.87.0.44 (RMX2001; Android 11#1647528410731#30; gzip; )'),
  iPhone('Mobile/15E148 Snapchat/12.80.0.40 (like Safari/8617.1.17.10.12, panda)'),
  android('STF-L09', '[Pinterest/Android]'),
  iPhone('Mobile/15E148 [LinkedInApp]/9.31.1426'),
  iPhone('Mobile/21F90 Twitter for iPhone/10.55'),
  iPhone('Mobile/15E148 Safari/604.1 Line/14.6.1'),
  android('SM-G991N', 'KAKAOTALK/10.8.3 (INAPP)'),
  android('SM-N950N', 'NAVER(inapp; search; 1000; 11.8.4; 11)'),
  android('SM-A536E', 'Zalo android/12100656 ZaloTheme/light ZaloLanguage/vi'),
  iPhone('Mobile/15E148 MicroMessenger/8.0.49(0x18003128) NetType/WIFI Language/ja'),
  android('SM-G991B', 'V1_AND_SQ_8.3.5_1392_YYB_D QQ/8.3.5.4555 NetType/WIFI WebP/0.4.1 Pixel/1080'),
  android(
    'SM-S9080',
    'Ariver/1.0.0 AliApp(AP/10.3.86.6000) Nebula AlipayDefined(nt:WIFI,ws:360|0|3.0) AlipayClient/10.3.86.6000',
  ),
  android('EML-TL00', 'AliApp(TB/7.10.4) UCBS/2.11.1.1 TTID/227200@taobao_android_7.10.4 WindVane/8.3.0 1080X2244'),
  iPhone('Mobile/15E148 YJApp-IOS jp.co.yahoo.ios.yjtop/4.60.0'),
  // Apps and browsers of search engines.
  iPhone('GSA/307.0 Mobile/15E148 Safari/604.1'),
  iPhone('Mobile/15E148 GoogleWv/1.0 (WKWebView) GeminiiOS/1.2026.2270600'),
  android('SM-S911B', 'GoogleApp/15.11.36.28.arm64'),
  iPhone('Version/16.0 Mobile/15E148 Safari/605.1.15 BingSapphire/31.4.430829001'),
  android('MIX 2', 'BingWeb/6.9.12'),
  iPhone('Mobile/15E148 SP-engine/2.94.0 main%2F1.0 baiduboxapp/13.59.0.10 (Baidu; P2 17.4) NABar/1.0'),
  android(
    'MT1-U06',
    'baiduboxapp/042_2.7.3_diordna_8021_027/IEWAUH_61_2.1.4_60U-1TM+IEWAUH/7300001a/|544176010472968/1',
  ),
  android('ATH-AL00', 'SogouMSE,SogouMobileBrowser/4.2.6'),
  `Mozilla/5.0 (Linux; arm_64; Android 13) ${BLINK} Chrome/114.0 YaBrowser/23.7 (lite) Mobile Safari/537.36 YandexSearch/23.80`,
  // Apps for news.
  android('MI CC 9e', 'NewsArticle/8.7.5.0 ToutiaoMicroApp/2.31.1.1 PluginVersion/874011'),
  iPhone('Mobile/15E148 NewsArticle/8.1.3.05 JsSdk/2.0 NetType/WIFI (NewsLite 8.1.3 13.400000) NewsLite/8.1.3'),
  iPhone('Mobile/15E148 SmartNews/25.3.0'),
  iPhone('Version/17.4.1 Mobile/15E148 Safari/605.1.15 NewsSapphire/1.0.420507003'),
];

describe('bot detection', () => {
  it.each(BOTS)('%s is a bot', (userAgent) => {
    expect(isBotAgent(userAgent)).toBe(true);
  });

  it.each(PEOPLE)('%s is a person', (userAgent) => {
    expect(isBotAgent(userAgent)).toBe(false);
  });

  it('is fast for user agents crafted to be slow', () => {
    const started = performance.now();
    for (const piece of ['Android 1; ', 'Android 1; en-us; ', 'Instagram 1 Android (', '((', 'FBAV/', '1@a_'])
      isBotAgent(piece.repeat(1000));
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
