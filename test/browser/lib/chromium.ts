import { execFileSync } from 'node:child_process';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
/** A normal user agent, because that of headless Chromium counts as a bot. */
const VISITOR = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

const LOG_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy violated:', event.violatedDirective, event.blockedURI));`;

function findChromium(): string | undefined {
  const commands = NAMES.map((name) => `command -v ${name}`).join(' || ');
  try {
    return execFileSync('sh', ['-c', commands], { encoding: 'utf8' }).trim();
  } catch {
    console.log(`no Chromium here (${NAMES.join(', ')}): the browser tests are skipped`);
    return undefined;
  }
}

const executablePath = findChromium();
/** Whether a Chromium is installed. Without one the tests in a browser are skipped. */
export const hasChromium = executablePath !== undefined;

/** Starts a Chromium without the sandbox, which does not work for root, and without `/dev/shm`, which is small in containers. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
}

/** A separate browser profile, with everything that went wrong in it. */
export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors and warnings, uncaught errors, failed requests and content policy violations, as texts. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens a page in a profile of its own.
 *
 * @param expected faults that the test causes on purpose, such as the console line for a page with status 401
 */
export async function newVisitor(
  browser: Browser,
  options: BrowserContextOptions = {},
  expected: readonly RegExp[] = [],
): Promise<Visitor> {
  const context = await browser.newContext({ userAgent: VISITOR, ...options });
  const faults: string[] = [];
  const addFault = (fault: string) => {
    if (!expected.some((pattern) => pattern.test(fault))) faults.push(fault);
  };
  // Most violations appear in the console; those of a report-only policy do not.
  await context.addInitScript({ content: LOG_VIOLATIONS });
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      addFault(`${message.type()} at ${message.location().url}: ${message.text()}`);
    }
  });
  context.on('weberror', (error) => addFault(`uncaught: ${error.error().message}`));
  context.on('requestfailed', (request) => addFault(`failed: ${request.url()}: ${request.failure()?.errorText}`));
  return { context, page: await context.newPage(), faults, close: () => context.close() };
}
