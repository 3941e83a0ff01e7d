import { availableParallelism } from 'node:os'
import { halfOf } from '../src/machine.js'
import { type Counter, countedBy, threadsBusy } from './counters.js'
import { updateReading } from './device.js'
import type { Bench, Harness } from './harness.js'
import type { LoadResult } from './load.js'
import { type Played, type PlayedMachine, playedUpdates, type UpdateCosts } from './played-machine.js'
import { fresh } from './request.js'
import { inTurns, median, rounded, times } from './rounds.js'
import type { Line } from './table.js'

const manyConnections: readonly number[] = [64, 256]
const processors: readonly number[] = [2, 4, 8, 16]
const threads: readonly number[] = [1, 2, 3, 4, 6, 8, 12, 16]

/** What is measured. */
const oneOfEach = { httpThreads: 1, partitions: 1 }

/** More of something that gives less than that is not worth it. */
const worth = 1.03

/** What one update costs here, and what that would give on other machines, with each number of threads. */
export const machines: Bench = {
  name: 'machines',
  question: 'what updates would get on 2 to 16 processors, with which flags, played by what each part takes here',
  run: async (harness) => {
    if (!harness.hasOwnBrokers('machines')) return
    for (const connections of manyConnections) await measure(harness, connections)
  },
}

interface Round {
  readonly load: LoadResult
  readonly costs: UpdateCosts
}

async function measure(harness: Harness, connections: number): Promise<void> {
  const { devices, duration_s, rounds } = harness.options
  const requests = Array.from({ length: devices }, (_, number) => updateReading(number, fresh))
  const task = { connections, requests, checked: true, ...times(duration_s / rounds) }
  await harness.withDevices(['-httpThreads', '1', '-partitions', '1'], async (url) => {
    const loaded = async (of: number, round: number): Promise<readonly [LoadResult, Counted]> => {
      const before = await countedBy(counters, [url])
      const load = await harness.load(`machines, ${of} connections, round ${round}`, { ...task, connections: of, url })
      const after = await countedBy(counters, [url])
      return [load, (name) => (after.get(name) ?? 0) - (before.get(name) ?? 0)]
    }
    const one = async (round: number): Promise<Round> => {
      // A flush takes longer where its thread waits for a processor behind it, which it would not on a larger machine.
      const [, alone] = await loaded(1, round)
      const [load, counted] = await loaded(connections, round)
      return { load, costs: costsOf(load, counted, alone('flushes_us') / alone('turns')) }
    }
    const { measured } = await inTurns(rounds, one)
    const of = (name: keyof UpdateCosts): number => median(measured.map(({ costs }) => costs[name]))
    const [frontEnd_us, partition_us, flush_us] = [of('frontEnd_us'), of('partition_us'), of('flush_us')]
    const costs: UpdateCosts = { frontEnd_us, partition_us, flush_us, load_us: of('load_us') }
    if (![frontEnd_us, partition_us, flush_us].every((cost_us) => cost_us > 0)) {
      return harness.report.fail(
        'machines: a round is over before the threads say how busy they were: --duration 2 or more',
      )
    }
    const rate_per_s = median(measured.map(({ load }) => load.rate_per_s))
    const here = playedUpdates(costs, { ...oneOfEach, processors: availableParallelism(), connections })
    harness.report.add({
      ...{ bench: 'machines', case: 'measured here, with the load', connections, rounds },
      ...{ measured_per_s: Math.round(rate_per_s), played_per_s: Math.round(here.rate_per_s) },
      ...{ front_end_us: rounded(frontEnd_us), partition_us: rounded(partition_us) },
      ...{ flush_us: rounded(flush_us), load_us: rounded(costs.load_us) },
    })
    for (const number of processors) {
      for (const line of linesFor({ ...costs, load_us: 0 }, number, connections)) harness.report.add(line)
    }
  })
}

type Playing = (machine: PlayedMachine) => Played

/** The default flags on a machine whose load comes from another one, and those that give more. */
function linesFor(costs: UpdateCosts, number: number, connections: number): readonly Line[] {
  const half = halfOf(number)
  const play: Playing = (machine) => playedUpdates(costs, machine)
  const withThreads = (httpThreads: number, partitions: number) => {
    const machine = { processors: number, httpThreads, partitions, connections }
    return { machine, played: play(machine) }
  }
  const usual = withThreads(half, half)
  const counts = threads.filter((count) => count <= number)
  const all = counts.flatMap((httpThreads) => counts.map((partitions) => withThreads(httpThreads, partitions)))
  const most = Math.max(...all.map(({ played }) => played.rate_per_s))
  // Of those that give about as much, the one with the fewest threads.
  const [best] = all
    .filter(({ played }) => played.rate_per_s * worth >= most)
    .sort((a, b) => a.machine.httpThreads + a.machine.partitions - b.machine.httpThreads - b.machine.partitions)
  const isBetter = best !== undefined && best.played.rate_per_s > worth * usual.played.rate_per_s
  return [lineOf('default flags', play, usual), ...(isBetter ? [lineOf('other flags', play, best)] : [])]
}

function lineOf(
  name: string,
  play: Playing,
  { machine, played }: { readonly machine: PlayedMachine; readonly played: Played },
): Line {
  const { processors: number, httpThreads, partitions, connections } = machine
  return {
    ...{ bench: 'machines', case: name, connections, processors: number, http_threads: httpThreads, partitions },
    ...{ played_per_s: Math.round(played.rate_per_s), processors_ratio: rounded(played.processors_ratio) },
    lacks: lackOf(play, machine, played),
  }
}

/** What one more of would give most. */
function lackOf(play: Playing, machine: PlayedMachine, { rate_per_s }: Played): string {
  const { processors: number, httpThreads, partitions } = machine
  const more = {
    processors: { ...machine, processors: number + 1 },
    '-httpThreads': { ...machine, httpThreads: httpThreads + 1 },
    '-partitions': { ...machine, partitions: partitions + 1 },
  }
  const gains = Object.entries(more).map(([what, changed]) => ({ what, rate_per_s: play(changed).rate_per_s }))
  const [most] = gains.sort((one, other) => other.rate_per_s - one.rate_per_s)
  return most !== undefined && most.rate_per_s > worth * rate_per_s ? most.what : 'connections'
}

const counters: readonly Counter[] = [
  ...threadsBusy,
  { name: 'requests', samples: /^rigel_http_requests_total\{.*\} (\S+)$/gm },
  { name: 'processors_us', samples: /^process_cpu_seconds_total (\S+)$/gm, times: 1e6 },
  { name: 'turns', samples: /^rigel_log_append_duration_seconds_count\{.*\} (\S+)$/gm },
  { name: 'flushes_us', samples: /^rigel_log_append_duration_seconds_sum\{.*\} (\S+)$/gm, times: 1e6 },
]

/** What a broker has counted between two moments, by name. */
type Counted = (name: string) => number

/**
 * What an update took between two moments. Threads that had to wait for a processor were busy for longer than they were at work: what
 * the process took of the processors is divided among them.
 */
function costsOf({ generator_cpu_ratio, rate_per_s }: LoadResult, counted: Counted, flush_us: number): UpdateCosts {
  const frontEnds_us = counted('front_ends_busy_us')
  const partitions_us = Math.max(0, counted('partitions_busy_us') - counted('flushes_us'))
  const share = counted('processors_us') / (frontEnds_us + partitions_us) / counted('requests')
  return {
    frontEnd_us: frontEnds_us * share,
    partition_us: partitions_us * share,
    flush_us,
    load_us: (1e6 * generator_cpu_ratio) / rate_per_s,
  }
}
