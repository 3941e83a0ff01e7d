import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { BrokerProcess, DataFolder, ownBroker } from '../../bench/broker-process.js'
import { fuzz } from './fuzzer.js'

const help = `node dist/test/fuzz/structured.js [--seconds N] [--seed N] [--clients N] [--bound MS] [--flags="FLAGS"]

Starts a broker and sends it requests that are right, slightly wrong or wild, the same ones for the same seed. Says what
was wrong: a lost process, a response that is no HTTP, no JSON or of another shape, a status of 500, a response that took
longer than --bound, a read that does not show what was written, a line of level ERROR or FATAL. The exit code is 0 when
there was nothing.
`

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    clients: { type: 'string', default: '4' },
    bound: { type: 'string', default: '5000' },
    flags: { type: 'string', default: '-multiservice -httpTimeout 500 -partitions 2 -httpThreads 2' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

async function run(): Promise<number> {
  const folder = new DataFolder()
  const flags = ['-logDir', folder.path, ...values.flags.split(' ').filter((flag) => flag !== '')]
  const broker = await BrokerProcess.start({ main: ownBroker, folder, flags })
  const seed = Number(values.seed)
  try {
    const { requests, statuses, slowest_ms, findings } = await fuzz({
      url: broker.url,
      seed,
      duration_ms: Number(values.seconds) * 1000,
      clients: Number(values.clients),
      bound_ms: Number(values.bound),
    })
    const lines = await faultLines(join(folder.path, 'contextBroker.log'))
    for (const finding of findings.slice(0, 50)) process.stderr.write(`${finding}\n\n`)
    for (const line of lines.slice(0, 50)) process.stderr.write(`${line}\n`)
    const summary = {
      fuzz: 'structured',
      seed,
      seconds: Number(values.seconds),
      requests,
      statuses: Object.fromEntries(statuses),
    }
    const result = {
      ...summary,
      slowest_ms: Math.round(slowest_ms),
      findings: findings.length,
      error_lines: lines.length,
    }
    process.stdout.write(`${JSON.stringify(result)}\n`)
    await broker.end()
    return findings.length + lines.length === 0 ? 0 : 1
  } catch (fault) {
    throw await broker.abandon(fault)
  } finally {
    folder.remove()
  }
}

/** Lines of faults. A long run has more lines than a text may have characters. */
async function faultLines(file: string): Promise<readonly string[]> {
  const faults: string[] = []
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (/"lvl":"(ERROR|FATAL)"/.test(line)) faults.push(line)
  }
  return faults
}

if (values.help) process.stdout.write(help)
else process.exitCode = await run()
