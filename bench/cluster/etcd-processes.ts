import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.js'

/** What `etcdctl` waits for an answer: a machine that has much else to do, or whose disk has, may take seconds. */
const patience_s = 30

/** The same of one who is asked again: a member that is not there takes it as well. */
const glance_s = 2

/** How often members are asked which of them leads, if none does. */
const leaderTries = 100

/** Whether etcd is installed, with the program that asks it (`etcd-server` and `etcd-client` of Debian). */
export function hasEtcd(): boolean {
  return spawnSync('etcd', ['--version']).status === 0 && spawnSync('etcdctl', ['version']).status === 0
}

/** A member of an etcd on this machine: its name, where clients and other members reach it, and its folder. */
export interface EtcdMember {
  readonly name: string
  readonly url: string
  readonly peer: string
  readonly data: string
}

/** Members that can be started: this many, with their folders in one. */
export async function etcdMembers(
  size: number,
  folder: string,
  scheme: 'http' | 'https' = 'http',
): Promise<readonly EtcdMember[]> {
  const members: EtcdMember[] = []
  for (let number = 0; number < size; number += 1) {
    members.push({
      name: `m${number}`,
      url: `${scheme}://127.0.0.1:${await freePort()}`,
      peer: `http://127.0.0.1:${await freePort()}`,
      data: join(folder, `etcd-${number}`),
    })
  }
  return members
}

/** A real etcd of several members on this machine, each a process. Members are named by their numbers, from 0. */
export class EtcdProcesses {
  readonly urls: readonly string[]
  /** Where the members reach each other. */
  readonly peers: readonly string[]
  readonly #members: readonly EtcdMember[]
  readonly #flags: readonly string[]
  readonly #processes = new Map<number, ChildProcess>()

  constructor(members: readonly EtcdMember[], flags: readonly string[] = []) {
    this.#members = members
    this.#flags = flags
    this.urls = members.map(({ url }) => url)
    this.peers = members.map(({ peer }) => peer)
  }

  get size(): number {
    return this.#members.length
  }

  /** Starts a member, on what its folder holds. */
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

  /** Starts all members; does not wait until they serve. */
  startAll(): void {
    for (let number = 0; number < this.size; number += 1) this.start(number)
  }

  /** The number of the process of a member; nothing before its first start. */
  pid(number: number): number | undefined {
    return this.#processes.get(number)?.pid
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

  /** The number of the member that leads: on a machine that has much else to do another one is elected now and then. Blocks this thread while it asks. */
  leader(): number {
    for (let tries = 0; tries < leaderTries; tries += 1) {
      for (let number = 0; number < this.size; number += 1) {
        const output = this.control(['endpoint', 'status', '--write-out=json'], number, glance_s)
        const [status] = output.startsWith('[') ? JSON.parse(output) : []
        if (status !== undefined && status.Status.leader === status.Status.header.member_id) return number
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    }
    throw new Error('etcd has no leader')
  }

  /** What `etcdctl` prints; empty when it fails. Blocks this thread. */
  control(words: readonly string[], number?: number, limit_s = patience_s): string {
    const urls = number === undefined ? this.urls : [this.urls[number]]
    const environment = { ...process.env, ETCDCTL_API: '3' }
    const done = spawnSync('etcdctl', ['--endpoints', urls.join(','), `--command-timeout=${limit_s}s`, ...words], {
      encoding: 'utf8',
      env: environment,
    })
    return done.status === 0 ? done.stdout : ''
  }

  /** Resolves when a majority serves. */
  untilHealthy(): Promise<void> {
    return this.#until((healthy) => healthy > 0)
  }

  /** Resolves when all members serve. */
  untilAllHealthy(): Promise<void> {
    return this.#until((healthy) => healthy === this.size)
  }

  /** A member that is healthy has a leader, and so a majority. */
  async #until(isEnough: (healthy: number) => boolean): Promise<void> {
    for (let tries = 0; tries < 1200; tries += 1) {
      const healthy = await Promise.all(this.urls.map(isHealthy))
      if (isEnough(healthy.filter(Boolean).length)) return
      await delay(100)
    }
    throw new Error('etcd does not become healthy')
  }

  /** Kills all members. */
  async end(): Promise<void> {
    for (let number = 0; number < this.size; number += 1) await this.kill(number)
  }
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health`).catch(() => undefined)
  return response?.ok === true && (await response.text()).includes('"true"')
}
