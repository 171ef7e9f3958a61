/** A page of our own, for visits that lead nowhere. Texts are fixed: nothing of a request is ever written into one. */
export interface Page {
  readonly status: number;
  readonly html: string;
}

const STYLE =
  'body{margin:0;min-height:100vh;display:grid;place-items:center;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fafafa}' +
  'main{max-width:26rem;padding:2rem;text-align:center}h1{font-size:1.4rem;margin:0 0 .5rem}p{margin:0;color:#666}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#151515}p{color:#999}}';

function page(status: number, title: string, text: string): Page {
  return {
    status,
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head><body><main><h1>${title}</h1><p>${text}</p></main></body></html>`,
  };
}

export const NOT_FOUND_PAGE = page(404, 'Link not found', 'There is no link at this address.');
export const EXPIRED_PAGE = page(410, 'Link expired', 'This link has expired and leads nowhere any more.');
export const PASSWORD_PAGE = page(401, 'Password required', 'This link opens only with its password.');
export const PLACEHOLDER_PAGE = page(200, 'Short links live here', 'This domain is used for short links.');
export const UNAVAILABLE_PAGE = page(
  503,
  'Please try again',
  'This link cannot be opened right now. Try again in a moment.',
);

/** Pages load nothing and run nothing. */
export const PAGE_HEADERS = [
  'content-type',
  'text/html; charset=utf-8',
  'content-security-policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'x-content-type-options',
  'nosniff',
] as const;
