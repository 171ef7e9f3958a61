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
const WORKSPACE_OPTION = 'Id or slug of the workspace';
const PROGRAM_URL_OPTION = 'Destination site of partner links';

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
  .command('workspace create', 'Create a workspace with keys and, with --domain, its first domain')
  .option('--name <name>', 'Display name; default: the slug')
  .option('--slug <slug>', 'Short name: lower-case letters, digits, hyphens')
  .option('--plan <plan>', `${PLAN_OPTION}; default: enterprise`)
  .option('--domain <host>', 'Domain of its short links, such as go.acme.com')
  .option('--program-url <url>', PROGRAM_URL_OPTION)
  .action(printing(createWorkspace));
cli
  .command('workspace update [workspace]', 'Change a workspace')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--name <name>', 'Display name')
  .option('--slug <slug>', 'Short name')
  .option('--plan <plan>', PLAN_OPTION)
  .option('--program-url <url>', `${PROGRAM_URL_OPTION}; "" allows any site`)
  .option('--program-folder <folder>', 'Id of the folder for new partner links; "" for none')
  .option('--allowed-hostnames <hosts>', 'Comma-separated hosts that may call the browser endpoints; "" allows all')
  .option('--requests-per-minute <number>', 'Rate limit of a key, or "plan"')
  .option('--analytics-per-second <number>', 'Rate limit of a key on /events and /analytics, or "plan"')
  .option('--quotas <quotas>', 'Such as linksPerMonth=1000,domains=unlimited,tags=plan')
  .action(printing(updateWorkspace));
cli.command('workspace list', 'List all workspaces').action(printing(listWorkspaces));

cli
  .command('key create', 'Create an API key')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--scopes <scopes>', 'Comma-separated, such as links.read,analytics.read; default: all')
  .option('--name <name>', 'Name of the key')
  .option('--role <role>', 'owner, member, viewer or billing', { default: 'owner' })
  .option('--expires <time>', 'Expiry time, ISO 8601')
  .option('--publishable', 'Create a publishable key for web pages, limited to the two client routes of /track')
  .action(printing(createKey));
cli.command('key list', 'List API keys').option('--workspace <workspace>', WORKSPACE_OPTION).action(printing(listKeys));
cli
  .command('key revoke <key>', 'Revoke an API key by its id or the key itself')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .action(printing(revokeKey));

cli.command('migrate up', 'Apply all pending migrations').action(printing(migrateUp));
cli
  .command('migrate wait', 'Wait until all migrations are applied')
  .option('--seconds <number>', 'Time limit', { default: 600 })
  .action(printing(awaitMigrations));
cli.command('migrate status', 'Show which migrations are applied').action(printing(showMigrations));

cli
  .command('dead-letters list', 'List rows that ClickHouse rejected, oldest first')
  .option('--limit <number>', 'Maximum number of rows', { default: 100 })
  .action(printing(showDeadLetters));
cli
  .command('dead-letters replay [...ids]', 'Requeue all dead letters, or those with the given ids')
  .action(printing(replayLetters));

cli
  .command('webhooks deliveries', 'List webhook delivery attempts, newest first')
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--webhook <webhook>', 'Only of the webhook with this id')
  .option('--failed', 'Only of events that were never delivered')
  .option('--limit <number>', 'Maximum number of rows', { default: 100 })
  .action(printing(showDeliveries));
cli
  .command(
    'webhooks replay [...events]',
    'Deliver events again: those with the given evt_ ids, or with --failed all undelivered ones',
  )
  .option('--workspace <workspace>', WORKSPACE_OPTION)
  .option('--webhook <webhook>', 'Only to the webhook with this id')
  .option('--failed', 'All events that were never delivered')
  .action(printing(replayWebhookDeliveries));

cli.command('backup [directory]', 'Back up DATA_DIR; the stack may be running').action(printing(backUp));
cli.command('restore [directory]', 'Restore a backup into an empty DATA_DIR').action(printing(restore));

cli
  .command('capacity', 'Estimate memory, disk, cores and processes for a load')
  .option('--events-per-second <number>', 'Average rate of clicks, leads and sales')
  .option('--queries-per-second <number>', 'Average rate of requests to /events and /analytics')
  .option('--retention-days <number>', 'How long events are kept')
  .option('--lead-share <number>', 'Share of leads among events; default: 0.02')
  .option('--sale-share <number>', 'Share of sales among events; default: 0.005')
  .option('--peak-factor <number>', 'Busiest minute as a multiple of the average; default: 3')
  .option('--outage-minutes <number>', 'Longest ClickHouse outage to survive; default: 15')
  .option('--replicas <number>', 'Copies of the data; default: 1')
  .action(printing(showCapacity));

cli.command('status', 'Show the health of components and the queue depths').action(printing(showStatus));
cli
  .command('demo', 'Send realistic traffic through the HTTP endpoints; with GEO_EDGE=vercel from many countries')
  .option('--seconds <number>', 'Duration', { default: 10 })
  .option('--rate <number>', 'Clicks per second', { default: 40 })
  .option('--workspace <workspace>', WORKSPACE_OPTION, { default: 'default' })
  .option('--api <url>', 'URL of the API; default: the local stack')
  .option('--links <url>', 'URL of short links; default: the local stack')
  .action(printing(runDemo));

cli.help();
cli.version('0.1.0');

/** The parser supports only one-word commands, so `workspace create` is passed to it as one argument. */
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
    throw new CommandError(
      cli.args.length === 0 ? 'the command is missing' : `there is no command "${cli.args.join(' ')}"`,
    );
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
