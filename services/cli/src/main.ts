import { ApiError } from '@waymark/contract';
import { cac } from 'cac';
import { CommandError } from './command-error.js';
import { backUp, restore } from './commands/backup.js';
import { showCapacity } from './commands/capacity.js';
import { replayLetters, showDeadLetters } from './commands/dead-letters.js';
import { runDemo } from './commands/demo.js';
import { createKey, listKeys, revokeKey } from './commands/key.js';
import { awaitMigrations, migrateUp, showMigrations } from './commands/migrate.js';
import { showStatus } from './commands/status.js';
import { replayWebhookDeliveries, showDeliveries } from './commands/webhooks.js';
import { createWorkspace, listWorkspaces, updateWorkspace } from './commands/workspace.js';
import { optionTexts } from './option-texts.js';
import { type CommandResult, printResult } from './output.js';

const PLAN_OPTION = 'free, pro, business, advanced or enterprise';
const WORKSPACE_OPTION = 'Its id or slug';
const PROGRAM_URL_OPTION = 'The site that links of partners lead to';

interface GlobalOptions {
  readonly json?: boolean;
}

/** Runs a command and prints what it returns. */
function printing<Args extends unknown[]>(run: (...args: Args) => Promise<CommandResult>) {
  return async (...args: Args): Promise<void> => {
    const options = args.at(-1) as GlobalOptions;
    printResult(await run(...args), options.json === true);
  };
}

const cli = cac('waymark');
cli.option('--json', 'Print JSON');

cli
  .command('workspace create', 'Make a workspace with its keys and, if named, its first domain')
  .option('--name <name>', 'Its name; the slug if none')
  .option('--slug <slug>', 'Its short name: lower-case letters, digits, hyphens')
  .option('--plan <plan>', `${PLAN_OPTION}; enterprise if none`)
  .option('--domain <host>', 'Where its short links live, such as go.acme.com')
  .option('--program-url <url>', PROGRAM_URL_OPTION)
  .action(printing(createWorkspace));
cli
  .command('workspace update [workspace]', 'Change a workspace')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--name <name>', 'Its name')
  .option('--slug <slug>', 'Its short name')
  .option('--plan <plan>', PLAN_OPTION)
  .option('--program-url <url>', `${PROGRAM_URL_OPTION}; "" allows any site`)
  .option('--program-folder <folder>', 'Folder of links that are made for partners, by its id; "" for none')
  .option('--allowed-hostnames <hosts>', 'Hosts that may call the browser endpoints, comma separated; "" allows all')
  .option('--requests-per-minute <number>', 'Rate limit of a key, or "plan"')
  .option('--analytics-per-second <number>', 'Rate limit of a key on /events and /analytics, or "plan"')
  .option('--quotas <quotas>', 'Such as linksPerMonth=1000,domains=unlimited,tags=plan')
  .action(printing(updateWorkspace));
cli.command('workspace list', 'List all workspaces').action(printing(listWorkspaces));

cli
  .command('key create', 'Make an API key')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--scopes <scopes>', 'Comma separated, such as links.read,analytics.read; all if none')
  .option('--name <name>', 'A name to recognise it by')
  .option('--role <role>', 'owner, member, viewer or billing', { default: 'owner' })
  .option('--expires <time>', 'When it ends, ISO 8601')
  .option('--publishable', 'A key for pages, which opens the two client routes of /track alone')
  .action(printing(createKey));
cli.command('key list', 'List API keys').option('--workspace <workspace>', WORKSPACE_OPTION).action(printing(listKeys));
cli
  .command('key revoke <key>', 'Revoke an API key, named by its id or by itself')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .action(printing(revokeKey));

cli.command('migrate up', 'Bring the tables up to date').action(printing(migrateUp));
cli
  .command('migrate wait', 'Wait until all migrations are applied')
  .option('--seconds <number>', 'How long', { default: 600 })
  .action(printing(awaitMigrations));
cli.command('migrate status', 'Show which migrations are applied').action(printing(showMigrations));

cli
  .command('dead-letters list', 'List rows that ClickHouse refused, oldest first')
  .option('--limit <number>', 'How many', { default: 100 })
  .action(printing(showDeadLetters));
cli
  .command('dead-letters replay [...ids]', 'Put them back into the queue: all, or those named')
  .action(printing(replayLetters));

cli
  .command('webhooks deliveries', 'List attempts to deliver to webhooks, newest first')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--webhook <webhook>', 'Of one webhook, by its id')
  .option('--failed', 'Of events that no attempt delivered')
  .option('--limit <number>', 'How many', { default: 100 })
  .action(printing(showDeliveries));
cli
  .command(
    'webhooks replay [...events]',
    'Deliver events again: those named by their evt_ ids, or with --failed all such',
  )
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--webhook <webhook>', 'To one webhook, by its id')
  .option('--failed', 'Events that no attempt delivered')
  .action(printing(replayWebhookDeliveries));

cli.command('backup [directory]', 'Copy what must survive of DATA_DIR, while the stack runs').action(printing(backUp));
cli.command('restore [directory]', 'Make an empty DATA_DIR what it was at a backup').action(printing(restore));

cli
  .command('capacity', 'Say what a load takes: memory, disk, cores, processes')
  .option('--events-per-second <number>', 'Clicks, leads and sales, on average')
  .option('--queries-per-second <number>', 'Of /events and /analytics, on average')
  .option('--retention-days <number>', 'How long events stay')
  .option('--lead-share <number>', 'Share of leads among events; 0.02 if none')
  .option('--sale-share <number>', 'Share of sales among events; 0.005 if none')
  .option('--peak-factor <number>', 'The busiest minute beside the average; 3 if none')
  .option('--outage-minutes <number>', 'How long ClickHouse may be away; 15 if none')
  .option('--replicas <number>', 'Copies of the data; 1 if none')
  .action(printing(showCapacity));

cli.command('status', 'Show what runs and what is queued').action(printing(showStatus));
cli
  .command('demo', 'Send realistic traffic through the HTTP endpoints, from countries with GEO_EDGE=vercel')
  .option('--seconds <number>', 'How long', { default: 10 })
  .option('--rate <number>', 'Clicks per second', { default: 40 })
  .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
  .option('--api <url>', 'The API, if no stack runs here')
  .option('--links <url>', 'Where short links answer, if no stack runs here')
  .action(printing(runDemo));

cli.help();
cli.version('0.1.0');

/** The parser supports commands of one word: `workspace create` is handed to it as one argument. */
function joinCommandWords(argv: readonly string[]): string[] {
  const [node = '', script = '', first, second, ...rest] = argv;
  const joined = `${first} ${second}`;
  return cli.commands.some(({ name }) => name === joined) ? [node, script, joined, ...rest] : [...argv];
}

function explain(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  const isOurs =
    err instanceof CommandError || err instanceof ApiError || err.name === 'CACError' || err.name === 'SettingsError';
  return isOurs ? err.message : `${err.name}: ${err.message}`;
}

async function run(): Promise<void> {
  cli.parse(joinCommandWords(process.argv), { run: false });
  if (cli.options.help || cli.options.version) return;
  if (cli.matchedCommand === undefined) {
    cli.outputHelp();
    throw new CommandError(cli.args.length === 0 ? 'which command?' : `there is no command "${cli.args.join(' ')}"`);
  }
  cli.options = optionTexts(cli.options, process.argv);
  await cli.runMatchedCommand();
}

run().catch((err: unknown) => {
  const wantsJson = process.argv.includes('--json');
  const message = explain(err);
  console.error(wantsJson ? JSON.stringify({ error: { message } }) : `waymark: ${message}`);
  process.exitCode = 1;
});
