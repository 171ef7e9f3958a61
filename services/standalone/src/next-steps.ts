import { findFirstKey, removeFirstKey } from './first-key.js';

/** The domain of the first workspace when DEFAULT_DOMAIN is not set: it needs no DNS record. */
export const LOCAL_DOMAIN = 'localhost';

/** Sent instead of curl's own User-Agent: visits with that one count as visits of a bot, and are not recorded as clicks. */
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** What {@link nextSteps} writes into its commands. */
export interface NextSteps {
  /** URL of the API port, without a trailing slash. */
  readonly api: string;
  /** URL of the link port, without a trailing slash. */
  readonly links: string;
  /** The domain of the first workspace. */
  readonly domain: string;
  /** The second command stores the click id in the folder `run` of this directory, for the third one. */
  readonly dataDir: string;
  /** The API key, if this start created it; undefined = an earlier start created and showed it. */
  readonly apiKey: string | undefined;
  /**
   * The file with the API key of the first workspace. With `apiKey`: this path is printed instead of the key. Without: an earlier start wrote
   * the file. Undefined: the key itself is printed, or there is no file.
   */
  readonly apiKeyFile: string | undefined;
  /** Added to keys and ids. Differs at every start, so that the commands work again on the same data. */
  readonly suffix: string;
}

/** The arguments with which curl opens a short link on this machine: all domains but `localhost` need a Host header. */
function localLinkAddress(links: string, domain: string, key: string): string {
  const { hostname, port } = new URL(links);
  const isLocal = domain === LOCAL_DOMAIN && (hostname === '[::1]' || hostname.startsWith('127.'));
  return isLocal ? `http://${LOCAL_DOMAIN}:${port}/${key}` : `-H 'Host: ${domain}' ${links}/${key}`;
}

/** The tag that loads the browser script from the first workspace's domain. */
function scriptTag(links: string, domain: string): string {
  const origin = domain === LOCAL_DOMAIN ? `http://${LOCAL_DOMAIN}:${new URL(links).port}` : `https://${domain}`;
  return `<script defer src="${origin}/analytics/script.js"></script>`;
}

/** A text as one word of a shell, whatever characters it has. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The API key for use in double quotes: itself, or a shell expression for it. */
function keyInShell({ apiKey, apiKeyFile }: Pick<NextSteps, 'apiKey' | 'apiKeyFile'>): string {
  if (apiKey === undefined) return '$WAYMARK_KEY';
  return apiKeyFile === undefined ? apiKey : `$(cat ${quoted(apiKeyFile)})`;
}

function steps(input: NextSteps): readonly (readonly [string, string])[] {
  const { api, links, domain, dataDir, suffix } = input;
  const authorization = `-H "Authorization: Bearer ${keyInShell(input)}"`;
  const post = (path: string, body: string) =>
    `curl -s ${api}${path} ${authorization} -H 'Content-Type: application/json' -d ${body}`;
  const list = (event: string) => `curl -s '${api}/events?event=${event}' ${authorization}`;
  const clickIdFile = quoted(`${dataDir}/run/click-id`);
  const key = `try${suffix}`;
  const customer = `customer${suffix || '-1'}`;
  return [
    [
      'create a link',
      post(
        '/links',
        `'{"url":"https://example.com/pricing","key":"${key}","domain":"${domain}","trackConversion":true}'`,
      ),
    ],
    [
      'follow it as a browser does, and keep the click id',
      `curl -s -o /dev/null -w '%{redirect_url}' -A '${BROWSER}' ${localLinkAddress(links, domain, key)} | sed 's/.*dub_id=//' | tee ${clickIdFile}`,
    ],
    [
      'report a lead',
      post(
        '/track/lead',
        `"{\\"clickId\\":\\"$(cat ${clickIdFile})\\",\\"eventName\\":\\"Sign up\\",\\"customerExternalId\\":\\"${customer}\\"}"`,
      ),
    ],
    [
      'report a sale',
      post(
        '/track/sale',
        `'{"customerExternalId":"${customer}","amount":4900,"currency":"usd","invoiceId":"invoice${suffix || '-1'}"}'`,
      ),
    ],
    ['read the click back', list('clicks')],
    ['read the lead back', list('leads')],
    ['read the sale back', list('sales')],
    ['count them by link', `curl -s '${api}/analytics?event=composite&groupBy=top_links' ${authorization}`],
    ['keep the click ids on your site: a line for its pages', scriptTag(links, domain)],
  ];
}

function keyLines({ apiKey, apiKeyFile }: NextSteps): readonly string[] {
  if (apiKey === undefined && apiKeyFile !== undefined) {
    return [
      'With the API key of a workspace. That of the first one is in a file that only you can read; keep it, and delete the file:',
      '',
      `  export WAYMARK_KEY=$(cat ${quoted(apiKeyFile)})`,
    ];
  }
  if (apiKey === undefined) {
    return [
      'With the API key of a workspace (a new one: npx waymark key create --workspace default):',
      '',
      '  export WAYMARK_KEY=dub_…',
    ];
  }
  return apiKeyFile === undefined
    ? ['The workspace "default" was created. Its API key is shown this once:', '', `  ${apiKey}`]
    : [
        'The workspace "default" was created. Its API key is in a file that only you can read; keep it, and delete the file:',
        '',
        `  ${apiKeyFile}`,
      ];
}

/** The text with the API key and the next steps, one line each. */
export function nextSteps(input: NextSteps): string {
  return [
    ...keyLines(input),
    '',
    ...steps(input).flatMap(([what, line], index) => [`  # ${index + 1}. ${what}`, `  ${line}`]),
    '',
  ].join('\n');
}

/**
 * Prints the next steps. A terminal shows the API key that this start has created, which is then in no file any more; without a terminal the
 * output goes to a log, which others may read.
 */
export function showNextSteps(
  input: Omit<NextSteps, 'apiKeyFile'>,
  { isTerminal, print }: { readonly isTerminal: boolean; readonly print: (text: string) => void },
): void {
  const isShown = input.apiKey !== undefined && isTerminal;
  print(nextSteps({ ...input, apiKeyFile: isShown ? undefined : findFirstKey(input.dataDir) }));
  if (isShown) removeFirstKey(input.dataDir);
}
