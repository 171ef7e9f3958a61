import { createHash } from 'node:crypto';
import { type Html, html } from './html.js';

const STYLE = `
:root{color-scheme:light dark;--line:#8883;--soft:#8881;--text:#1c1c1e;--back:#fff;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--text:#e8e8ea;--back:#141416;--link:#8ab4f8}}
*{box-sizing:border-box}body{margin:0;font:15px/1.55 system-ui,sans-serif;color:var(--text);background:var(--back)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
nav{position:fixed;inset:0 auto 0 0;width:17rem;overflow:auto;padding:1.2rem;border-right:1px solid var(--line);font-size:13px}
nav b{display:block;margin:.9rem 0 .2rem}nav a{display:block;padding:.1rem 0;color:inherit}
main{margin-left:17rem;padding:1.5rem 2rem 6rem;max-width:62rem}
h1{font-size:1.7rem;margin:.2rem 0}h2{font-size:1.35rem;margin:3rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1.1rem;margin:2.2rem 0 .4rem}h4{font-size:.8rem;margin:1rem 0 .3rem;opacity:.7;text-transform:uppercase}
:target{scroll-margin-top:1rem;outline:2px solid var(--link);outline-offset:.4rem}
code,pre{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}code{background:var(--soft);padding:.05em .3em;border-radius:3px}
pre{background:var(--soft);padding:.8rem 1rem;border-radius:6px;overflow:auto;max-height:28rem}
.method{font-weight:600;margin-right:.5rem}.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}th{text-align:left;padding:.3rem .8rem .3rem 0}td{border-top:1px solid var(--line);padding:.3rem .8rem .3rem 0;vertical-align:top}
td small{display:block;opacity:.7}td b{font-size:11px;font-weight:600;color:#c5221f}summary{cursor:pointer}
@media(max-width:50rem){nav{position:static;width:auto;border:0}main{margin:0;padding:1rem}}`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Headers of a page: it is text with one inline style sheet, which is allowed by its hash; the browser loads and runs nothing else. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'public, max-age=300',
} as const;

/** A complete documentation page. */
export function docsPage(title: string, navigation: Html, content: Html): string {
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  // The style is inserted outside the `html` template, which would escape it and so change its hash.
  return `<!doctype html><html lang="en"><head>${head.text}<style>${STYLE}</style></head><body>${
    html`<nav>${navigation}</nav><main>${content}</main>`.text
  }</body></html>`;
}
