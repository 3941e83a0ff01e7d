import { BrokerProcess, DataFolder, versionOf } from './broker-process.js'
import { Feed } from './feed-run.js'
import { createDevices, removeDevices } from './fleet.js'
import { Ledger } from './ledger.js'
import {
  brokerOptions,
  helpOf,
  option,
  optional,
  parseCount,
  parseCounts,
  parseOptions,
  parseUrl,
  text,
  type ValuesOf,
  WrongCommandLine,
} from './options.js'
import { runProgram } from './program.js'
import { environment, Report } from './report.js'
import { rounded } from './rounds.js'

const feedOptions = {
  devices: option('devices N', 'devices, each with three attributes and metadata', parseCount, '10000'),
  updates: option('updates N', 'updates that are acknowledged in all', parseCount, '1000000'),
  connections: option('connections N', 'connections, each feeding devices of its own', parseCount, '64'),
  killAfter: optional(
    'kill-after L',
    'kill when this many updates are acknowledged, several numbers separated by commas (--updates)',
    parseCounts,
  ),
  ...brokerOptions,
  url: optional('url URL', 'feed a broker that runs already: it is checked at the end, but not killed', parseUrl),
  json: optional('json FILE', 'write the result to this file as well', text),
} as const

const help = `Usage: rigel feed [option ...]         (in the sources: node dist/bench/feed.js ...)

Feeds a broker with updates, kills it with SIGKILL while requests are under way, starts it again on the same folder, and
reads every device: each must have what was acknowledged last or what was under way, whole.

${helpOf(feedOptions)}

The exit code is 0 if every device has what it should have, 1 if not, and 2 for a wrong command line.`

interface FeedOptions extends ValuesOf<typeof feedOptions> {
  /** Ascending, none above `updates`. */
  readonly killAfter: readonly number[]
}

/** What was seen over all checks. */
interface Seen {
  underWay: number
  kept: number
  checked: number
  wrong: number
  readonly restarts_ms: number[]
}

function parseFeedOptions(argv: readonly string[]): FeedOptions | undefined {
  const given = parseOptions(feedOptions, argv)
  if (given === undefined) return undefined
  const { updates, killAfter = [updates], url } = given.values
  if (killAfter.some((count) => count > updates)) throw new WrongCommandLine('--kill-after is above --updates')
  if (url !== undefined && given.values.killAfter !== undefined) {
    throw new WrongCommandLine('--kill-after: a broker named by --url is not killed')
  }
  return { ...given.values, killAfter: killAfter.toSorted((a, b) => a - b) }
}

/** Feeds, kills and checks; true when the broker has kept what it promised. */
async function feedAll(options: FeedOptions): Promise<boolean> {
  const report = new Report()
  const ledger = new Ledger(options.devices, 0)
  const feed = new Feed(ledger, options.connections)
  const seen: Seen = { underWay: 0, kept: 0, checked: 0, wrong: 0, restarts_ms: [] }
  const ticking = setInterval(() => {
    report.progress(`feed: ${feed.acknowledged} of ${options.updates} updates acknowledged`)
  }, 500)
  try {
    if (options.url === undefined) await feedOwn(options, feed, ledger, seen, report)
    else await feedOther(options.url, options, feed, seen, report)
  } finally {
    clearInterval(ticking)
  }
  report.add({
    bench: 'feed',
    devices: options.devices,
    connections: options.connections,
    updates: options.updates,
    acknowledged: feed.acknowledged,
    feeding_s: rounded(feed.feeding_s),
    rate_per_s: Math.round(feed.acknowledged / feed.feeding_s),
    kills: seen.restarts_ms.length,
    under_way_at_kill: seen.underWay,
    under_way_kept: seen.kept,
    restart_to_first_answer_ms: seen.restarts_ms.length === 0 ? null : Math.round(Math.max(...seen.restarts_ms)),
    checked: seen.checked,
    wrong: seen.wrong,
  })
  if (seen.wrong > 0) report.fail(`${seen.wrong} devices are not as they were acknowledged`)
  report.end()
  if (options.json !== undefined) report.writeTo(options.json)
  return !report.failed
}

async function feedOwn(options: FeedOptions, feed: Feed, ledger: Ledger, seen: Seen, report: Report): Promise<void> {
  const folder = new DataFolder()
  const start = { main: options.main, folder, flags: options.flags }
  let broker = await BrokerProcess.start(start)
  try {
    report.begin(environment({ broker: (await versionOf(broker.url)) ?? 'unknown' }))
    await createDevices(broker.url, options.devices, 0)
    for (const count of options.killAfter) {
      let killed: Promise<void> | undefined
      await feed.until(count, broker.url, () => {
        killed = broker.kill()
      })
      await killed
      seen.underWay += ledger.underWay
      broker = await BrokerProcess.start(start)
      seen.restarts_ms.push(broker.start_ms)
      await check(broker.url, options, feed, seen, report)
    }
    if (feed.acknowledged < options.updates) {
      await feed.until(options.updates, broker.url, () => {})
      await check(broker.url, options, feed, seen, report)
    }
    await broker.end()
  } catch (fault) {
    throw await broker.abandon(fault)
  } finally {
    folder.remove()
  }
}

async function feedOther(url: string, options: FeedOptions, feed: Feed, seen: Seen, report: Report): Promise<void> {
  report.begin(environment({ broker: (await versionOf(url)) ?? 'unknown' }))
  await createDevices(url, options.devices, 0)
  await feed.until(options.updates, url, () => {})
  await check(url, options, feed, seen, report)
  await removeDevices(url, options.devices)
}

async function check(url: string, { devices }: FeedOptions, feed: Feed, seen: Seen, report: Report): Promise<void> {
  const { wrong, kept } = await feed.check(url)
  seen.checked += devices
  seen.kept += kept
  seen.wrong += wrong.length
  for (const sentence of wrong.slice(0, 10)) report.note(sentence)
}

await runProgram({ help, command: 'feed', parse: parseFeedOptions, run: feedAll })
