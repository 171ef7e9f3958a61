import { createHash } from 'node:crypto';
import { escapeHtml } from '@waymark/http-kit';

/** An HTML page of the link port. */
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

/** What the content security policy must allow besides the style sheet. */
export interface PageOptions {
  /** Allowed sources of frames. */
  readonly frames?: string;
  /** Browsers load everything over HTTPS. */
  readonly isUpgraded?: boolean;
  /**
   * The page has a form. Browsers apply `form-action` also to redirects after the form is submitted, and those may lead anywhere, so
   * pages with a form (whose markup is fixed) omit the directive.
   */
  readonly hasForm?: boolean;
}

/** A policy that forbids loading, running or framing anything else; the style sheet is allowed by its hash. */
function policyOf({ frames = "'none'", isUpgraded = false, hasForm = false }: PageOptions): string {
  const upgrade = isUpgraded ? 'upgrade-insecure-requests; ' : '';
  const forms = hasForm ? '' : "form-action 'none'; ";
  return (
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-src ${frames}; ${upgrade}${forms}` +
    `base-uri 'none'; frame-ancestors 'none'`
  );
}

/** Builds a page. `head` and `body` must be escaped markup; `title` is escaped here. */
export function htmlPage(
  status: number,
  { title, head = '', body }: { readonly title: string; readonly head?: string; readonly body: string },
  options: PageOptions = {},
): Page {
  return {
    status,
    html:
      `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>${escapeHtml(title)}</title>${head}<style>${STYLE}</style></head><body>${body}</body></html>`,
    policy: policyOf(options),
  };
}

/** A page with a single message. */
export function messagePage(status: number, title: string, text: string): Page {
  const body = `<main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></main>`;
  return htmlPage(status, { title, body });
}
