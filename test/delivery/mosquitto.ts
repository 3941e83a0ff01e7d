import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import type { Test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { until } from '../until.js'

/** Why tests against a real MQTT broker are skipped, if they are; `apt-get install mosquitto` brings it. */
export const skipped = existsSync('/usr/sbin/mosquitto') ? false : 'mosquitto is not installed'

/** A message as a subscriber of a topic has received it. */
export interface Received {
  readonly topic: string
  readonly body: string
  readonly qos: number
  readonly retain: boolean
}

/** Mosquitto on a free port. It keeps sessions, so what it has acknowledged outlives it. */
export class Mosquitto {
  readonly port: number
  readonly #t: Test
  readonly #configuration: string
  #process: ChildProcess | undefined
  #log = ''

  private constructor(t: Test, port: number, configuration: string) {
    this.#t = t
    this.port = port
    this.#configuration = configuration
  }

  /** With these users and passwords, or for everybody. */
  static async start(t: Test, users: Readonly<Record<string, string>> = {}): Promise<Mosquitto> {
    const port = await freePort()
    const folder = t.testdir()
    const passwords = join(folder, 'passwords')
    writeFileSync(passwords, '')
    for (const [user, password] of Object.entries(users)) {
      execFileSync('mosquitto_passwd', ['-b', passwords, user, password], { stdio: 'ignore' })
    }
    const access = Object.keys(users).length === 0 ? ['allow_anonymous true'] : [`password_file ${passwords}`]
    const configuration = join(folder, 'mosquitto.conf')
    const lines = [`listener ${port} 127.0.0.1`, ...access, 'log_dest stderr', 'log_type all', 'user root']
    writeFileSync(configuration, `${lines.join('\n')}\n`)
    const broker = new Mosquitto(t, port, configuration)
    await broker.run()
    t.teardown(() => broker.kill())
    return broker
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`
  }

  /** Connections that it has taken so far, by the user of each. */
  get users(): readonly string[] {
    return [...this.#log.matchAll(/New client connected from .* as rigel\w+ \(p2, c1, k\d+(?:, u'(\w+)')?\)/g)].map(
      ([, user = '']) => user,
    )
  }

  /** The topics of all messages that it has received, in their order, over all its lives. */
  get topics(): readonly string[] {
    return [...this.#log.matchAll(/Received PUBLISH from rigel\w+ \([^']*'([^']*)'/g)].map(([, topic = '']) => topic)
  }

  /** How many of them have said goodbye. */
  get goodbyes(): number {
    return [...this.#log.matchAll(/Received DISCONNECT from rigel/g)].length
  }

  /** Resolves when it accepts connections. */
  async run(): Promise<void> {
    const child = spawn('/usr/sbin/mosquitto', ['-c', this.#configuration], { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.on('data', (piece: Buffer) => {
      this.#log += piece
    })
    this.#process = child
    await until(() => isListening(this.port))
  }

  /** Kills it without warning. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** It answers nothing any more, or again. */
  stop(isStopped: boolean): void {
    this.#process?.kill(isStopped ? 'SIGSTOP' : 'SIGCONT')
  }

  /** What comes for a topic from now on. */
  async subscribe(topic: string, credentials: { username?: string; password?: string } = {}): Promise<Received[]> {
    const client: MqttClient = await connectAsync(this.url, { reconnectPeriod: 0, ...credentials })
    client.on('error', () => undefined)
    this.#t.teardown(() => client.end(true))
    const received: Received[] = []
    client.on('message', (of, body, { qos, retain }) => received.push({ topic: of, body: `${body}`, qos, retain }))
    await client.subscribeAsync(topic, { qos: 2 })
    return received
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
