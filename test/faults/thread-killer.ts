import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'undici'
import { member } from '../../bench/ngsi.js'
import { until } from '../until.js'

/** Let Node listen for a debugger, on a port that it says. */
export const withDebugger: readonly string[] = ['--inspect=127.0.0.1:0']

/**
 * How long the debugger may take to answer, and how long a thread is waited for before it is asked again: what is said to one that begins
 * or ends just then never is answered.
 */
const patience_ms = { debugger: 30_000, thread: 5_000, death: 30_000 }

/** How a thread of a running process is made to end. */
export const deaths = {
  /** An exception outside of every guard. */
  throws: { name: 'throw', code: 'setTimeout(() => { throw new Error("ended by the test") })' },
  /** More is held than the heap of the thread may hold. */
  exhausts: {
    name: 'run out of memory',
    code: 'setTimeout(() => { for (const held = []; ; ) held.push(new Array(1e6).fill(held.length + 0.5)) })',
  },
  /** It gives way to nothing any more, and the process has to end because of that. */
  stands: {
    name: 'stand still',
    code: 'setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))',
  },
  exits: { name: 'exit', code: 'setTimeout(() => process.exit(9))' },
  /** A turn reads the clock after each command that it has decided. The function is found by its name: the program's modules are joined. */
  exitsDeciding: {
    name: 'exit while it decides',
    code: `(() => {
      const now = performance.now.bind(performance)
      performance.now = () => {
        if (/ at decideTurn /.test(new Error().stack)) process.exit(9)
        return now()
      }
    })()`,
  },
} as const

export type Death = keyof typeof deaths

/** The entries of threads in `workers/`. */
export type Entry = 'partition' | 'query' | 'front-end' | 'courier' | 'log'

/**
 * Reaches the threads of a running process through Node's debugger, so that the program itself needs no way to be
 * made to fail.
 */
export class ThreadKiller {
  readonly #socket: WebSocket
  /** The session with each thread, and the scripts that it is known to have loaded. */
  readonly #sessions = new Map<string, Set<string>>()
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #number = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data))))
    socket.addEventListener('close', () => this.#sessions.clear())
  }

  /** Connects to the debugger of a process by what the process wrote to its standard error. */
  static async connect(output: string): Promise<ThreadKiller> {
    const url = [...output.matchAll(/Debugger listening on (ws:\S+)/g)].at(-1)?.[1]
    if (url === undefined) throw new Error('the process has no debugger')
    const socket = new WebSocket(url)
    await opened(socket)
    const killer = new ThreadKiller(socket)
    await killer.#ask('NodeRuntime.notifyWhenWaitingForDisconnect', { enabled: true })
    await killer.#ask('NodeWorker.enable', { waitForDebuggerOnStart: false })
    return killer
  }

  close(): void {
    this.#socket.close()
  }

  /** Makes a thread end that runs this entry, and waits until it is gone; one that is to stand still is there as long as its process. */
  async kill(entry: Entry, death: Death): Promise<void> {
    // A thread in the place of one that died may not have begun yet.
    await until(() => this.killOne(entry, death), `a thread runs ${entry}`)
  }

  /** Does so if there is one now, and says whether there was. */
  async killOne(entry: Entry, death: Death): Promise<boolean> {
    for (const [session, scripts] of this.#sessions) {
      // The debugger names all scripts that are there before it says that it is enabled.
      const isEnabled = await this.#askThread(session, 'Debugger.enable')
      if (!(isEnabled && (await this.#askThread(session, 'Debugger.disable')))) continue
      if (![...scripts].some((script) => script.endsWith(`/workers/${entry}.js`))) continue
      const code = { expression: deaths[death].code }
      const isHeard = await this.#askThread(session, 'Runtime.evaluate', code, patience_ms.death)
      if (!isHeard && this.#sessions.has(session)) continue
      if (death === 'stands') return true
      // One whose heap is nearly full collects garbage all the time, on a processor that others need too.
      await until(() => !this.#sessions.has(session), `the thread of ${entry} ends`)
      return true
    }
    return false
  }

  /** Makes the main thread throw an error that nothing catches. */
  async killMain(): Promise<void> {
    await this.#ask('Runtime.evaluate', { expression: deaths.throws.code })
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = this.#next()
    this.#socket.send(JSON.stringify({ id, method, params }))
    return this.#responseOf(id)
  }

  /** Says whether the thread has answered; one that is gone does not. */
  async #askThread(
    sessionId: string,
    method: string,
    params = {},
    most_ms: number = patience_ms.thread,
  ): Promise<boolean> {
    const id = this.#next()
    const message = JSON.stringify({ id, method, params })
    const envelope = { id: this.#next(), method: 'NodeWorker.sendMessageToWorker', params: { sessionId, message } }
    let hasResponded = false
    this.#waiting.set(id, () => {
      hasResponded = true
    })
    this.#socket.send(JSON.stringify(envelope))
    const again_ms = performance.now() + most_ms
    await until(() => hasResponded || !this.#sessions.has(sessionId) || performance.now() > again_ms)
    return hasResponded
  }

  #next(): number {
    this.#number += 1
    return this.#number
  }

  async #responseOf(id: number): Promise<unknown> {
    const response = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve))
    const late = delay(patience_ms.debugger, 'late', { ref: false })
    const first = await Promise.race([response, late])
    if (first === 'late') throw new Error('the debugger does not answer')
    return first
  }

  #take(message: unknown): void {
    const method = member(message, 'method')
    const params = member(message, 'params')
    const session = String(member(params, 'sessionId'))
    if (method === 'NodeWorker.attachedToWorker') this.#sessions.set(session, new Set())
    else if (method === 'NodeWorker.detachedFromWorker') this.#sessions.delete(session)
    // The process ends, and tells no more of its threads.
    else if (method === 'NodeRuntime.waitingForDisconnect') this.#sessions.clear()
    else if (method === 'NodeWorker.receivedMessageFromWorker') {
      this.#takeOfThread(session, JSON.parse(String(member(params, 'message'))))
    } else this.#answered(message)
  }

  #takeOfThread(session: string, message: unknown): void {
    if (member(message, 'method') === 'Debugger.scriptParsed') {
      this.#sessions.get(session)?.add(String(member(member(message, 'params'), 'url')))
    } else this.#answered(message)
  }

  #answered(message: unknown): void {
    const id = Number(member(message, 'id'))
    this.#waiting.get(id)?.(member(message, 'result'))
    this.#waiting.delete(id)
  }
}

/** Refuses when nobody listens any more: the process has ended. */
function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve())
    socket.addEventListener('error', () => reject(new Error('the debugger cannot be reached')))
    setTimeout(() => reject(new Error('the debugger does not answer')), patience_ms.debugger).unref()
  })
}
