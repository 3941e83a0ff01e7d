import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { brokerProgram, nodeBySh } from './program.js'
import { until } from './until.js'

const shared = new Map<string, Promise<RunningBroker>>()

/** Linux counts the time of processes in hundredths of a second. */
export const tick_ms = 10

/** A broker is idle that uses no more of a processor than this at this number of looks in a row: a tick between two of them at most. */
const idleShare = 0.2
const idleLooks = 3
const look_ms = 60

/** The flags of the broker that most tests share. */
const usual = ['-multiservice', '-partitions', '3', '-httpThreads', '2']

/** How many tenants were given to tests. */
let tenants = 0

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

/** What a broker, or a tenant of one, is asked. */
export type Requests = Pick<RunningBroker, 'send' | 'update' | 'writes'>

/** How the program is started, beside its flags. */
export interface Surroundings {
  /** The script of another copy of it. */
  readonly program?: string
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** The most descriptors that the process may have open. */
  readonly descriptors?: number
}

/** The real program in a process of its own, on a data folder and a port of its own. */
export class RunningBroker {
  readonly folder: string
  readonly port: number
  output = ''
  readonly #flags: readonly string[]
  readonly #around: Surroundings
  #process: ChildProcess | undefined
  #closed: Promise<unknown> = Promise.resolve()

  private constructor(folder: string, port: number, flags: readonly string[], around: Surroundings) {
    this.folder = folder
    this.port = port
    this.#flags = flags
    this.#around = around
  }

  /** Starts a broker that ends with the test, and waits until it answers. */
  static async start(t: Test, flags: readonly string[] = [], around: Surroundings = {}): Promise<RunningBroker> {
    const end = endsWith(t)
    return RunningBroker.#started(t.testdir(), flags, end, around)
  }

  /** The same on a folder of the caller's. */
  static async startOn(
    t: Test,
    folder: string,
    flags: readonly string[] = [],
    around: Surroundings = {},
  ): Promise<RunningBroker> {
    return RunningBroker.#started(folder, flags, endsWith(t), around)
  }

  /** Starts a broker in a folder of one's own; it does not end with the test. */
  static startIn(folder: string, flags: readonly string[] = []): Promise<RunningBroker> {
    return RunningBroker.#started(folder, flags, [])
  }

  /** Starts several, each with a folder and a port of its own. */
  static async startAll(t: Test, number: number, flags: readonly string[] = []): Promise<readonly RunningBroker[]> {
    const end = endsWith(t)
    const folder = t.testdir()
    for (let at = 0; at < number; at += 1) await RunningBroker.#started(join(folder, `broker-${at}`), flags, end)
    return end
  }

  /**
   * The broker of all tests of this process that want the same flags, each of them in tenants of its own: it starts for the first one, and
   * ends with the process.
   */
  static shared(flags: readonly string[] = usual): Promise<RunningBroker> {
    const key = flags.join(' ')
    const running = shared.get(key) ?? RunningBroker.#startShared(flags)
    shared.set(key, running)
    return running
  }

  /** A tenant that nobody else uses, at a broker that tests of this process share. */
  static async tenant(): Promise<Requests> {
    const broker = await RunningBroker.shared()
    tenants += 1
    const service = { 'Fiware-Service': `own_${tenants}` }
    const send: Requests['send'] = (method, path, body, headers) =>
      broker.send(method, path, body, { ...service, ...headers })
    return {
      send,
      update: (action, ...elements) => send('POST', '/v1/updateContext', updateBody(action, elements)),
      writes: (what) => broker.writes(what),
    }
  }

  static async #startShared(flags: readonly string[]): Promise<RunningBroker> {
    const folder = mkdtempSync(join(tmpdir(), 'rigel-shared-'))
    const broker = await RunningBroker.startIn(folder, flags)
    broker.#outlivedBy(() => rmSync(folder, { recursive: true, force: true }))
    return broker
  }

  /** Lets this process end while the broker runs, and ends the broker then. */
  #outlivedBy(remove: () => void): void {
    const running = this.#process
    running?.unref()
    for (const stream of [running?.stdout, running?.stderr]) if (stream instanceof Socket) stream.unref()
    process.once('exit', () => {
      running?.kill('SIGKILL')
      remove()
    })
  }

  static async #started(
    folder: string,
    flags: readonly string[],
    end: RunningBroker[],
    around: Surroundings = {},
  ): Promise<RunningBroker> {
    const broker = new RunningBroker(folder, await freePort(), flags, around)
    end.push(broker)
    await broker.run()
    return broker
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Starts the program on the same folder and port. */
  async run(): Promise<void> {
    const { program: script = brokerProgram, nodeOptions = [], environment = {}, descriptors } = this.#around
    const program = [...nodeOptions, script, '-port', `${this.port}`, '-dbPath', this.folder, ...this.#flags]
    const limit = descriptors === undefined ? '' : `ulimit -n ${descriptors}; `
    const started = spawn('sh', nodeBySh(program, limit), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    })
    this.#process = started
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.output += chunk.toString()
      })
    }
    this.#closed = new Promise((resolve) => started.once('close', resolve))
    const responses = async () => {
      if (this.exit !== null) throw await this.#notStarted()
      return fetch(`${this.url}/version`).then(
        (response) => response.ok,
        () => false,
      )
    }
    await until(responses, () => `the broker answers: ${this.output.slice(-3000)}`)
  }

  /** Why it has ended, first in its own words, then by all that it wrote. */
  async #notStarted(): Promise<Error> {
    const code = await this.ended()
    return new Error(`the broker ended with ${code}: ${this.#lastWords()}\n${this.output}`)
  }

  /** Why it cannot go on, in its own words. */
  #lastWords(): string {
    const lines = this.output.split('\n')
    const said = lines.findLast((line) => line.includes('"lvl":"FATAL"')) ?? lines[0] ?? ''
    const [, words = said] = /"msg":"((?:[^"\\]|\\.)*)"/.exec(said) ?? []
    return words
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** The time of all processors that it has used, where the system tells, else that of the clock. */
  get worked_ms(): number {
    if (process.platform !== 'linux') return performance.now()
    const text = readFileSync(`/proc/${this.pid}/stat`, 'utf8')
    // Behind the name, which may have anything in it, the processor times are the 12th and 13th.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tick_ms
  }

  /** Resolves when it has done what requests before have left to do. An idle broker has timers, so it uses some of a processor on a slow machine. */
  async becomesIdle(): Promise<void> {
    if (process.platform !== 'linux') return
    let [seen_ms, before_ms, idle] = [performance.now(), this.worked_ms, 0]
    await until(async () => {
      await delay(look_ms)
      const [now_ms, worked_ms] = [performance.now(), this.worked_ms]
      idle = worked_ms - before_ms <= (now_ms - seen_ms) * idleShare ? idle + 1 : 0
      ;[seen_ms, before_ms] = [now_ms, worked_ms]
      return idle >= idleLooks
    }, 'the broker has nothing to do')
  }

  /** The exit code or the signal that ended the program; null while it runs. */
  get exit(): number | NodeJS.Signals | null {
    return this.#process?.exitCode ?? this.#process?.signalCode ?? null
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  /** Ends the program with a signal; gives its exit code or the signal that ended it. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.signal(signal)
    return this.ended()
  }

  /** Ends the program, and fails with its last words if that is not in order. */
  async endsInOrder(t: Test): Promise<void> {
    const code = await this.end('SIGTERM')
    t.equal(
      code,
      0,
      code === 0 ? 'it ends in order' : `it ends in order: ${this.#lastWords()}\n${this.output.slice(-3000)}`,
    )
  }

  /** Resolves when the program has ended, and all that it wrote is there. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    await this.#closed
    return this.exit
  }

  /** Resolves when the program has written this: the lines of its threads come when they come. */
  async writes(what: RegExp | string): Promise<void> {
    const isThere = () => (typeof what === 'string' ? this.output.includes(what) : what.test(this.output))
    await until(isThere, () => `the broker writes ${what}: ${this.output.slice(-3000)}`)
  }

  /** Resolves when it says that it is ready: one that has much else to do may take longer than health waits for its partitions. */
  async becomesReady(): Promise<void> {
    let received = ''
    const isReady = async (): Promise<boolean> => {
      const reply = await this.send('GET', '/health/ready').catch((fault: unknown) => String(fault))
      received = typeof reply === 'string' ? reply : `${reply.status} ${reply.text}`
      return received.startsWith('200 ')
    }
    await until(isReady, () => `the broker is ready: ${received}`)
  }

  /** Resolves when it says that its storage is full: while a partition is slow that is the reason why it is not ready. */
  async reportsFull(): Promise<void> {
    await until(() => this.isFull(), 'the broker says that its storage is full')
  }

  /** Whether it says now that its storage is full. */
  async isFull(): Promise<boolean> {
    return /unavailable.*storage full/s.test((await this.send('GET', '/health/ready')).text)
  }

  /** Sends a request; of a stream of events, which has no end, it reads the beginning only. */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const isEndless = response.headers.get('content-type') === 'text/event-stream'
    const text = await (isEndless ? beginning(response) : response.text())
    return { status: response.status, headers: response.headers, text, json: parsed(text) }
  }

  update(action: string, ...contextElements: readonly unknown[]): Promise<Reply> {
    return this.send('POST', '/v1/updateContext', updateBody(action, contextElements))
  }
}

function updateBody(action: string, contextElements: readonly unknown[]): unknown {
  return { contextElements, updateAction: action }
}

async function beginning({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const piece = await reader?.read()
  await reader?.cancel()
  return Buffer.from(piece?.value ?? []).toString()
}

/** Brokers that end with the test. Asked for before the folder is made, which is removed in the opposite order. */
function endsWith(t: Test): RunningBroker[] {
  const brokers: RunningBroker[] = []
  t.teardown(() => Promise.all(brokers.map((broker) => broker.end('SIGKILL'))))
  return brokers
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // Not every response is JSON; a test that expects it will say so.
  }
}
