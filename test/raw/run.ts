import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../until.js'
import { type Conversation, conversation } from './generator.js'

/** What a run of raw bytes against a broker has found. */
export interface RawRun {
  readonly seed: number
  readonly conversations: number
  readonly responses: number
  /** After the first tenth of the run and at its end. */
  readonly memory_MiB: readonly [number, number]
  readonly descriptors: readonly [number, number]
}

/** What a run is carried out on. */
export interface RawTarget {
  readonly port: number
  readonly pid: number
  /** Throws when the process does not answer a good request any more. */
  check(): Promise<void>
  /** How many are open. */
  connections(): Promise<number>
}

const atATime = 24
const silence_ms = 500

/** Sends the conversations of a seed for a time, and looks now and then whether a good request is still answered. */
export async function runRaw(target: RawTarget, seed: number, duration_ms: number): Promise<RawRun> {
  const begun = performance.now()
  let number = 0
  let responses = 0
  const atRest = async () => {
    // What clients have left behind is over when the longest drain and linger are.
    await until(async () => (await target.connections()) <= 4, 'the connections of clients that have gone are over')
    await target.check()
    return { memory: memoryOf(target.pid), descriptors: descriptorsOf(target.pid) }
  }
  const phase = async (until_ms: number) => {
    const isOver = () => performance.now() - begun >= until_ms
    const client = async () => {
      while (!isOver()) {
        number += 1
        const came = await hold(target.port, conversation(seed, number))
        responses += came
        if (number % 100 === 0) await target.check()
      }
    }
    await Promise.all(Array.from({ length: atATime }, client))
    return atRest()
  }
  const first = await phase(duration_ms / 10)
  const last = await phase(duration_ms)
  return {
    seed,
    conversations: number,
    responses,
    memory_MiB: [first.memory, last.memory],
    descriptors: [first.descriptors, last.descriptors],
  }
}

/** Carries one conversation out; gives how many responses came. */
async function hold(port: number, { packets, pauses, ending }: Conversation): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let responses = 0
  socket.on('data', (bytes: Buffer) => {
    responses += bytes.toString('latin1').split('HTTP/1.1 ').length - 1
  })
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  socket.setTimeout(silence_ms, () => socket.destroy())
  for (const [at, packet] of packets.entries()) {
    const pause = pauses[at] ?? 0
    if (at > 0 && pause > 0) await delay(pause)
    if (!socket.writable) break
    socket.write(packet)
  }
  if (ending === 'end') socket.end()
  else if (ending === 'destroy') socket.destroySoon()
  else if (ending === 'reset' && !socket.writableEnded && !socket.destroyed) socket.resetAndDestroy()
  await closed
  return responses
}

function memoryOf(pid: number): number {
  const [, kB = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kB) / 1024)
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
