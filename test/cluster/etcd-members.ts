import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../../bench/free-port.js'

/** Why tests with a real etcd are left out; false where it is installed (`etcd-server` of Debian). */
export const noEtcd: string | false =
  spawnSync('etcd', ['--version']).status === 0 ? false : 'no etcd here: Debian has it as etcd-server'

interface Member {
  readonly name: string
  readonly url: string
  readonly peer: string
  readonly data: string
}

/** A real etcd of several members on this machine, each a process; it ends with the test. */
export class EtcdMembers {
  readonly urls: readonly string[]
  readonly #members: readonly Member[]
  readonly #flags: readonly string[]
  readonly #processes = new Map<number, ChildProcess>()

  private constructor(members: readonly Member[], flags: readonly string[]) {
    this.#members = members
    this.#flags = flags
    this.urls = members.map(({ url }) => url)
  }

  /** Of HTTPS it is not waited until it serves: it may not serve everybody. */
  static async start(
    t: Test,
    size: number,
    folder: string,
    flags: readonly string[] = [],
    scheme: 'http' | 'https' = 'http',
  ): Promise<EtcdMembers> {
    const members: Member[] = []
    for (let number = 0; number < size; number += 1) {
      members.push({
        name: `m${number}`,
        url: `${scheme}://127.0.0.1:${await freePort()}`,
        peer: `http://127.0.0.1:${await freePort()}`,
        data: join(folder, `etcd-${number}`),
      })
    }
    const etcd = new EtcdMembers(members, flags)
    t.teardown(() => etcd.#end())
    for (let number = 0; number < size; number += 1) etcd.start(number)
    if (scheme === 'http') await etcd.untilHealthy()
    return etcd
  }

  get size(): number {
    return this.#members.length
  }

  start(number: number): void {
    const member = this.#members[number]
    if (member === undefined) throw new Error(`there is no member ${number}`)
    const { name, url, peer, data } = member
    const words = [
      ...['--name', name, '--data-dir', data, '--initial-cluster-state', 'new', '--logger', 'zap'],
      ...['--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', this.#members.map((each) => `${each.name}=${each.peer}`).join(',')],
      ...this.#flags,
    ]
    this.#processes.set(number, spawn('etcd', words, { stdio: 'ignore' }))
  }

  signal(number: number, signal: NodeJS.Signals): void {
    this.#processes.get(number)?.kill(signal)
  }

  /** Kills a member and waits until it is gone. */
  async kill(number: number): Promise<void> {
    const process = this.#processes.get(number)
    if (process === undefined || process.exitCode !== null || process.signalCode !== null) return
    const ended = once(process, 'exit')
    process.kill('SIGKILL')
    await ended
  }

  /** The number of the member that leads. */
  leader(): number {
    for (let number = 0; number < this.size; number += 1) {
      const said = this.control(['endpoint', 'status', '--write-out=json'], number)
      const [status] = said.startsWith('[') ? JSON.parse(said) : []
      if (status !== undefined && status.Status.leader === status.Status.header.member_id) return number
    }
    throw new Error('etcd has no leader')
  }

  /** What `etcdctl` prints; empty when it fails. */
  control(words: readonly string[], number?: number): string {
    const urls = number === undefined ? this.urls : [this.urls[number]]
    const environment = { ...process.env, ETCDCTL_API: '3' }
    const done = spawnSync('etcdctl', ['--endpoints', urls.join(','), '--command-timeout=2s', ...words], {
      encoding: 'utf8',
      env: environment,
    })
    return done.status === 0 ? done.stdout : ''
  }

  /** Resolves when a majority serves. */
  async untilHealthy(): Promise<void> {
    for (let tries = 0; tries < 300; tries += 1) {
      for (const url of this.urls) {
        const response = await fetch(`${url}/health`).catch(() => undefined)
        if (response?.ok && (await response.text()).includes('"true"')) return
      }
      await delay(100)
    }
    throw new Error('etcd does not become healthy')
  }

  async #end(): Promise<void> {
    for (let number = 0; number < this.size; number += 1) await this.kill(number)
  }
}
