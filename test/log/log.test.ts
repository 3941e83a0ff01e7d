import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { text as allOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { errorFacts } from '../../src/observe/log/log.js'
import { type LogSettings, type MainLog, type Outputs, openLog } from '../../src/observe/log/main-log.js'
import { traceArea } from '../../src/observe/log/trace.js'
import { type LogLevel, logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import { until } from '../until.js'

const plain: LogSettings = { logFormat: 'json', logForHumans: false, logDir: undefined, logAppend: false }

function switchesAt(level: LogLevel): Switches {
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf(level))
  switches.set('lineMaxSize', 32768)
  return switches
}

/** A log whose standard output and standard error are files. */
function given(t: Test, switches: Switches, settings: Partial<LogSettings> = {}, folder = t.testdir()) {
  const files = { stdout: join(folder, 'stdout'), stderr: join(folder, 'stderr') }
  const outputs: Outputs = { stdout: openSync(files.stdout, 'a'), stderr: openSync(files.stderr, 'a') }
  t.teardown(() => {
    closeSync(outputs.stdout)
    closeSync(outputs.stderr)
  })
  const log = openLog({ ...plain, ...settings }, switches, outputs)
  if (!log.ok) throw new Error(log.error.text)
  return {
    log: log.value,
    folder,
    stdout: () => readFileSync(files.stdout, 'utf8'),
    stderr: () => readFileSync(files.stderr, 'utf8'),
  }
}

function messagesIn(lines: string): readonly string[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line).msg)
}

/** One line of each level, the trace level 103 among them. */
function oneOfEach(log: MainLog): void {
  log.error('o', 'ERROR')
  log.warn('o', 'WARN')
  log.info('o', 'INFO')
  log.debug('o', 'DEBUG')
  log.trace('storage.txn', 'TRACE')
}

test('each level shows its own lines and those before it', async (t) => {
  const shown = { NONE: 0, FATAL: 0, ERROR: 1, WARN: 2, INFO: 3, DEBUG: 4 }
  const switches = switchesAt('NONE')
  const { log, stdout } = given(t, switches)
  const expected: string[] = []
  for (const level of logLevels) {
    switches.set('logLevel', logLevels.indexOf(level))
    oneOfEach(log)
    expected.push(...['ERROR', 'WARN', 'INFO', 'DEBUG'].slice(0, shown[level]))
  }
  await log.flush()
  t.same(messagesIn(stdout()), expected)
})

test('verbosity 1 adds the lines up to INFO, 2 those of DEBUG, and neither the trace lines', async (t) => {
  const switches = switchesAt('ERROR')
  const { log, stdout } = given(t, switches)
  switches.set('verbosity', 1)
  oneOfEach(log)
  switches.set('verbosity', 2)
  oneOfEach(log)
  switches.set('logLevel', logLevels.indexOf('NONE'))
  oneOfEach(log)
  await log.flush()
  t.same(messagesIn(stdout()), ['ERROR', 'WARN', 'INFO', 'ERROR', 'WARN', 'INFO', 'DEBUG'])
})

test('trace lines are shown while their level is on, whatever the log level but NONE', async (t) => {
  const switches = switchesAt('FATAL')
  const { log, stdout } = given(t, switches)
  switches.traces[traceArea['storage.txn']] = 1
  oneOfEach(log)
  switches.set('logLevel', logLevels.indexOf('NONE'))
  oneOfEach(log)
  await log.flush()
  t.match(JSON.parse(stdout()), { lvl: 'DEBUG', op: 'storage.txn', msg: 'TRACE', t: 103, area: 'storage.txn' })
})

test('summaries are shown at every level', async (t) => {
  const { log, stdout } = given(t, switchesAt('NONE'))
  log.summary('log:summary', 'Transactions: 1 (new: 1)')
  await log.flush()
  t.match(JSON.parse(stdout()), { lvl: 'SUMMARY', msg: 'Transactions: 1 (new: 1)' })
})

test('a FATAL line is written behind what was logged before, and only there', async (t) => {
  const { log, stdout, stderr } = given(t, switchesAt('WARN'))
  log.warn('o', 'before')
  log.fatal('main:end', 'port 1026 is in use')
  await log.flush()
  t.same(messagesIn(stdout()), ['before', 'port 1026 is in use'])
  t.equal(stderr(), '')
})

test('with the level NONE the FATAL line is on stderr', async (t) => {
  const { log, stdout, stderr } = given(t, switchesAt('NONE'))
  log.fatal('main:end', 'port 1026 is in use')
  t.equal(stdout(), '')
  t.same(messagesIn(stderr()), ['port 1026 is in use'])
})

test('with a directory lines go to the file as well, in its own form, and the file before is kept', async (t) => {
  const logDir = t.testdir({ 'contextBroker.log': 'before\n', 'contextBroker.log.old': 'long before\n' })
  const file = join(logDir, 'contextBroker.log')
  const settings = { logDir, logFormat: 'pipe', logForHumans: true } as const
  const { log, stdout } = given(t, switchesAt('WARN'), settings, logDir)
  log.warn('main:start', 'look')
  await log.flush()
  t.match(stdout(), /^\d\d:\d\d:\d\d\.\d{3} WARN {2}main:start {2}look\n$/)
  t.match(readFileSync(file, 'utf8'), /^time=\S+ \| lvl=WARN \|.* \| op=main:start \| msg=look\n$/)
  t.equal(readFileSync(`${file}.old`, 'utf8'), 'before\n')
})

test('with -logAppend the file goes on', async (t) => {
  const logDir = t.testdir({ 'contextBroker.log': 'before\n' })
  const { log } = given(t, switchesAt('WARN'), { logDir, logAppend: true }, logDir)
  log.warn('main:start', 'look')
  await log.flush()
  t.match(readFileSync(join(logDir, 'contextBroker.log'), 'utf8'), /^before\n\{.*\}\n$/)
  t.notOk(existsSync(join(logDir, 'contextBroker.log.old')))
})

test('a file that was moved away is opened anew, and no line is lost or cut', async (t) => {
  const logDir = t.testdir()
  const file = join(logDir, 'contextBroker.log')
  const { log } = given(t, switchesAt('WARN'), { logDir }, logDir)
  for (let number = 0; number < 100; number += 1) log.warn('o', `line ${number}`)
  // Now the lines are being written.
  await new Promise(setImmediate)
  renameSync(file, `${file}.1`)
  log.reopen()
  log.warn('o', 'line 100')
  await log.flush()
  const [before, after] = [`${file}.1`, file].map((path) => messagesIn(readFileSync(path, 'utf8')))
  t.same(
    [...(before ?? []), ...(after ?? [])],
    Array.from({ length: 101 }, (_, number) => `line ${number}`),
  )
  t.equal(after?.at(-1), 'line 100')
})

test('a file that can not be opened anew stays the one that is open, until it can', async (t) => {
  const folder = t.testdir({ logs: {} })
  const logDir = join(folder, 'logs')
  const { log } = given(t, switchesAt('WARN'), { logDir }, folder)
  log.warn('o', 'first')
  await log.flush()
  renameSync(logDir, join(folder, 'moved'))
  log.reopen()
  const held = () => messagesIn(readFileSync(join(folder, 'moved', 'contextBroker.log'), 'utf8'))
  await until(() => held().length === 2, 'it says that it can not be opened')
  log.warn('o', 'second')
  await log.flush()
  t.same(held(), ['first', `${join(logDir, 'contextBroker.log')} cannot be opened anew (ENOENT)`, 'second'])

  renameSync(join(folder, 'moved'), logDir)
  renameSync(join(logDir, 'contextBroker.log'), join(logDir, 'rotated'))
  log.reopen()
  log.warn('o', 'third')
  await log.flush()
  t.same(messagesIn(readFileSync(join(logDir, 'contextBroker.log'), 'utf8')), ['third'])
})

test('a directory that can not be written is refused', async (t) => {
  const logDir = join(t.testdir(), 'none')
  t.same(openLog({ ...plain, logDir }, switchesAt('WARN')), {
    ok: false,
    error: {
      kind: 'logDirUnusable',
      text: `the log directory '${logDir}' (-logDir) cannot be written: there is no such file or folder (ENOENT)`,
    },
  })
})

test('lines of other threads come in their order, with their partition', async (t) => {
  const switches = switchesAt('INFO')
  const { log, stdout } = given(t, switches)
  const { port1, port2 } = new MessageChannel()
  log.take(port1)
  const worker = new Worker(new URL('./log-thread.js', import.meta.url), {
    workerData: { port: port2, memory: switches.memory, lines: 2000 },
    transferList: [port2],
  })
  await once(worker, 'exit')
  log.info('o', 'the thread has ended')
  await log.flush()
  const messages = messagesIn(stdout()).filter((message) => message !== 'the thread has ended')
  t.same(
    messages,
    Array.from({ length: 2000 }, (_, number) => `line ${number}`),
  )
  t.match(JSON.parse(stdout().split('\n')[0] ?? ''), { partition: 3, op: 'thread', n: 0 })
})

/** Starts the writer in a process of its own, which writes this many lines into a real pipe, and at its end this reason. */
function writing(lines: number, reason?: string) {
  const script = fileURLToPath(new URL('./log-process.js', import.meta.url))
  const words = [script, String(lines), ...(reason === undefined ? [] : [reason])]
  return spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'pipe'] })
}

test('a reader that does not read stops neither the broker nor its end', async (t) => {
  const broker = writing(20_000)
  // Nobody reads its standard output.
  broker.stdin.end('end\n')
  const [code] = await once(broker, 'exit')
  t.equal(code, 0)
  broker.stdout.resume()
})

test('when a slow reader has caught up it is told how many lines it missed, and it has every ERROR line', async (t) => {
  const broker = writing(20_000)
  const [errors] = await once(broker.stderr, 'data')
  t.equal(String(errors), 'logged\n', 'logging is over before anybody has read')
  const output = allOf(broker.stdout)
  let text = ''
  broker.stdout.on('data', (data) => {
    text += data
  })
  await until(() => text.includes('log:dropped'))
  broker.stdin.end('end\n')
  const messages = messagesIn(await output)
  const dropped = Number(/^(\d+) lines were dropped/.exec(messages.find((text) => text.includes('dropped')) ?? '')?.[1])
  t.ok(dropped > 0)
  t.equal(messages.filter((text) => text.startsWith('usual')).length + dropped, 20_000)
  t.equal(messages.filter((text) => text.startsWith('error')).length, 200)
})

test('how many lines were dropped is known while nobody reads', async (t) => {
  const broker = writing(20_000, 'count')
  const errors = await once(broker.stderr, 'data')
  const counted = String(errors).includes('dropped') ? String(errors) : String(await once(broker.stderr, 'data'))
  const output = allOf(broker.stdout)
  broker.stdin.end('end\n')
  // The last line may be cut: the process ends at its limit, whatever is not written yet.
  const whole = (await output).split('\n').slice(0, -1).join('\n')
  const written = messagesIn(whole).filter((text) => text.startsWith('usual')).length
  const [, dropped] = /(\d+) dropped/.exec(counted) ?? []
  t.ok(Number(dropped) > 0 && Number(dropped) + written <= 20_000, `${dropped} of 20000, ${written} written`)
})

test('lines that other threads have dropped are counted with those of this one', async (t) => {
  const { log } = given(t, switchesAt('INFO'))
  const { port1, port2 } = new MessageChannel()
  log.take(port1)
  for (const dropped of [0, 7, 3]) port2.postMessage({ lines: [], dropped })
  await log.flush()
  t.equal(log.dropped, 10)
  port2.close()
})

test('a reader that has gone is no fault', async (t) => {
  const broker = writing(100)
  broker.stdout.destroy()
  broker.stdin.end('end\n')
  const [code] = await once(broker, 'exit')
  t.equal(code, 0)
})

for (const [what, lines, leave] of [
  ['has gone', 1, (broker: ReturnType<typeof writing>) => broker.stdout.destroy()],
  ['does not read', 20_000, () => {}],
] as const) {
  test(`the reason of the end is on stderr when the reader of standard output ${what}`, async (t) => {
    const broker = writing(lines, 'port 1026 is in use')
    const stderr = allOf(broker.stderr)
    leave(broker)
    broker.stdin.end('end\n')
    const [code] = await once(broker, 'exit')
    t.equal(code, 0)
    broker.stdout.resume()
    t.same(messagesIn((await stderr).replace('logged\n', '')), ['port 1026 is in use'])
  })
}

test('a fault is logged with its stack and those of its causes', async (t) => {
  const { error, errorStack } = errorFacts(new TypeError('outer', { cause: new Error('inner') }))
  t.equal(error, 'TypeError: outer')
  t.match(errorStack, /outer[\s\S]*log\.test[\s\S]*caused by: Error: inner/)
  t.same(errorFacts('text'), { error: 'text' })
})
