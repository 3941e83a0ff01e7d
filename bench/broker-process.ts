import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { addressOf, Connection } from './connection.js'
import { freePort } from './free-port.js'
import { member } from './ngsi.js'
import { written } from './request.js'

/** What is started when no other broker is named: the one that was built with this benchmark. */
export const ownBroker = fileURLToPath(new URL('../program/src/main.cjs', import.meta.url))

export interface Start {
  /** The script that node runs. */
  readonly main: string
  readonly folder: DataFolder
  readonly flags: readonly string[]
  /** Any that is free when it is absent. */
  readonly port?: number
  /** Hears the number of the process before it answers. */
  readonly begun?: (pid: number) => void
}

/** A new data folder, removed by `remove` or, at the latest, when this process ends. */
export class DataFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'rigel-bench-'))
  readonly #atExit = () => rmSync(this.path, { recursive: true, force: true, maxRetries: 5 })

  constructor() {
    process.on('exit', this.#atExit)
  }

  remove(): void {
    process.off('exit', this.#atExit)
    this.#atExit()
  }
}

/** A broker of our own, as an operator would run it: a process with a port and a data folder. */
export class BrokerProcess {
  readonly url: string
  /** From the start of the process to its first answer. */
  readonly start_ms: number
  readonly pid: number
  readonly #child: ChildProcess
  readonly #atExit: () => void
  readonly #words: () => string
  #killed = false

  private constructor(child: ChildProcess, atExit: () => void, words: () => string, url: string, start_ms: number) {
    if (child.pid === undefined) throw new Error('a process that answers has no number')
    this.pid = child.pid
    this.#child = child
    this.#atExit = atExit
    this.#words = words
    this.url = url
    this.start_ms = start_ms
  }

  /** Starts a broker and waits until it answers. A broker that ends instead is a fault with its last words. */
  static async start({ main, folder, flags, ...given }: Start, timeout_ms = 600_000): Promise<BrokerProcess> {
    const port = given.port ?? (await freePort())
    const url = `http://127.0.0.1:${port}`
    const started_ms = performance.now()
    const child = spawn(process.execPath, [main, '-port', String(port), '-dbPath', folder.path, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const atExit = () => child.kill('SIGKILL')
    process.prependListener('exit', atExit) // Before its folder is removed.
    const words = lastWords(child)
    if (child.pid !== undefined) given.begun?.(child.pid)
    while (true) {
      const responses = (await versionOf(url)) !== undefined
      // Asked after the answer: if our process has ended, somebody else answers on this port.
      const over = performance.now() - started_ms > timeout_ms
      if (!lives(child) || (over && !responses)) {
        const why = lives(child) ? 'does not answer' : `ended with ${ending(child)}`
        atExit()
        throw new Error(`the broker ${why}\n${words()}`)
      }
      if (responses) break
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return new BrokerProcess(child, atExit, words, url, performance.now() - started_ms)
  }

  /** An orderly end, unless `kill` came first. Any other exit code than 0 is a fault. */
  async end(): Promise<void> {
    if (this.#killed) return
    await this.#ended('SIGTERM')
    if (this.#child.exitCode !== 0) throw this.#endedWrongly()
  }

  /** The end that no broker can prepare for. */
  async kill(): Promise<void> {
    this.#killed = true
    await this.#ended('SIGKILL')
  }

  /** Ends the broker of a work that failed, and gives the reason: if the broker had ended by itself, that is it. */
  async abandon(fault: unknown): Promise<unknown> {
    if (lives(this.#child)) {
      // The end of a process may be noticed after the end of its connections.
      const grace = AbortSignal.timeout(200)
      await once(this.#child, 'exit', { signal: grace }).catch(() => undefined)
    }
    const byItself = !lives(this.#child) && this.#child.signalCode !== 'SIGKILL' && this.#child.exitCode !== 0
    await this.kill()
    return byItself ? this.#endedWrongly(fault) : fault
  }

  #endedWrongly(cause?: unknown): Error {
    return new Error(`the broker ended with ${ending(this.#child)}\n${this.#words()}`, { cause })
  }

  async #ended(signal: NodeJS.Signals): Promise<void> {
    if (lives(this.#child)) {
      const exit = once(this.#child, 'exit')
      this.#child.kill(signal)
      await exit
    }
    process.off('exit', this.#atExit)
  }
}

/** The version that a broker says it has, or nothing while nobody answers. */
export async function versionOf(url: string): Promise<string | undefined> {
  const address = addressOf(url)
  const connection = new Connection(address, 2_000)
  try {
    const response = await connection.ask(written({ verb: 'GET', path: '/version' }, address))
    if (response.status !== 200) return undefined
    return String(member(member(JSON.parse(response.text), 'orion'), 'version') ?? 'unknown')
  } catch {
    return undefined
  } finally {
    connection.close()
  }
}

function lives(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

function ending(child: ChildProcess): string {
  return child.signalCode ?? `code ${child.exitCode}`
}

/** Keeps the end of what a process says, and reads all of it: a full pipe would stop the process. */
function lastWords(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(-2_000)
    })
  }
  return () => text
}
