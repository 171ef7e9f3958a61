import { createHash } from 'node:crypto';
import { escapeHtml } from '@waymark/http-kit';

/** A page of our own. */
export interface Page {
  readonly status: number;
  readonly html: string;
  /** Value of `Content-Security-Policy`. */
  readonly policy: string;
}

const STYLE =
  'body{margin:0;min-height:100vh;display:grid;place-items:center;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fafafa}' +
  'main{max-width:26rem;padding:2rem;text-align:center}h1{font-size:1.4rem;margin:0 0 .5rem}p{margin:0;color:#666}' +
  'form{margin-top:1rem;display:flex;gap:.5rem}input{flex:1;min-width:0}input,button{font:inherit;padding:.4rem .7rem}' +
  'iframe{position:fixed;inset:0;width:100%;height:100%;border:0}' +
  '@media(prefers-color-scheme:dark){body{color:#eee;background:#151515}p{color:#999}}';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** What a page needs beyond its one style sheet. */
export interface PageNeeds {
  /** Sources of frames. */
  readonly frames?: string;
  /**
   * The page has a form. Browsers hold the redirects after a form to `form-action`, too, which would have to name the scheme
   * of wherever they lead; a page whose markup is fixed does without the directive.
   */
  readonly hasForm?: boolean;
}

/** Nothing is loaded, run or framed that is not named here; the style is allowed by its hash. */
function policyOf({ frames = "'none'", hasForm = false }: PageNeeds): string {
  const forms = hasForm ? '' : "form-action 'none'; ";
  return (
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-src ${frames}; ${forms}` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}

/** @param head and body markup whose texts are escaped already; `title` is escaped here */
export function htmlPage(
  status: number,
  { title, head = '', body }: { readonly title: string; readonly head?: string; readonly body: string },
  needs: PageNeeds = {},
): Page {
  return {
    status,
    html:
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>${escapeHtml(title)}</title>${head}<style>${STYLE}</style></head><body>${body}</body></html>`,
    policy: policyOf(needs),
  };
}

/** A page that says one thing. */
export function messagePage(status: number, title: string, text: string): Page {
  const body = `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></main>`;
  return htmlPage(status, { title, body });
}
