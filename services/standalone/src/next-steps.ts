/** The domain of the first workspace when DEFAULT_DOMAIN is not set: every machine resolves it to itself. */
export const LOCAL_DOMAIN = 'localhost';

/** curl's own User-Agent is a bot's, and a bot's visit is no click. */
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

export interface NextSteps {
  readonly api: string;
  readonly links: string;
  readonly domain: string;
  /** The file in which a line stores its result for the next. */
  readonly dataDir: string;
  /** The key made at this very start; undefined = made earlier, and shown then. */
  readonly apiKey: string | undefined;
  /** The file that holds that key; undefined = it is shown. */
  readonly apiKeyFile: string | undefined;
  /** Differs at every start, so that the lines work again on the same data. */
  readonly suffix: string;
}

/** Where a link of `domain` answers on this machine, as curl takes it: names that resolve here need no Host header. */
export function localLinkAddress(links: string, domain: string, key: string): string {
  const { hostname, port } = new URL(links);
  const isLocal = domain === LOCAL_DOMAIN && (hostname === '[::1]' || hostname.startsWith('127.'));
  return isLocal ? `http://${LOCAL_DOMAIN}:${port}/${key}` : `-H 'Host: ${domain}' ${links}/${key}`;
}

/** The key as a shell takes it between double quotes. */
function keyInShell({ apiKey, apiKeyFile }: Pick<NextSteps, 'apiKey' | 'apiKeyFile'>): string {
  if (apiKey === undefined) return '$WAYMARK_KEY';
  return apiKeyFile === undefined ? apiKey : `$(cat '${apiKeyFile}')`;
}

function steps(input: NextSteps): readonly (readonly [string, string])[] {
  const { api, links, domain, dataDir, suffix } = input;
  const authorization = `-H "Authorization: Bearer ${keyInShell(input)}"`;
  const post = (path: string, body: string) =>
    `curl -s ${api}${path} ${authorization} -H 'Content-Type: application/json' -d ${body}`;
  const list = (event: string) => `curl -s '${api}/events?event=${event}' ${authorization}`;
  const clickIdFile = `'${dataDir}/run/click-id'`;
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
  ];
}

function keyLines({ apiKey, apiKeyFile }: NextSteps): readonly string[] {
  if (apiKey === undefined) {
    return [
      'With the API key of a workspace (a new one: npx waymark key create --workspace default):',
      '',
      '  export WAYMARK_KEY=dub_…',
    ];
  }
  return apiKeyFile === undefined
    ? ['The workspace "default" was made. Its API key is shown this once:', '', `  ${apiKey}`]
    : [
        'The workspace "default" was made. Its API key is in a file that only you can read; keep it, and delete the file:',
        '',
        `  ${apiKeyFile}`,
      ];
}

/** What to do next, a curl line a step, each one complete in itself. */
export function nextSteps(input: NextSteps): string {
  return [
    ...keyLines(input),
    '',
    ...steps(input).flatMap(([what, line], index) => [`  # ${index + 1}. ${what}`, `  ${line}`]),
    '',
  ].join('\n');
}
