import { readdirSync, statSync } from 'node:fs'
import { join as joinPath } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DataFolder } from '../broker-process.js'
import type { Bench, Harness } from '../harness.js'
import { residentBeyondFiles_MiB } from '../memory.js'
import { PreparedFolders } from '../prepared.js'
import { median, rounded } from '../rounds.js'
import { NodesUnderTest } from './nodes.js'
import { nodeStart } from './requirements.js'
import { processorTime_ms } from './spent.js'

const sampled_ms = 100

/** How soon a node owns its share is to be what it takes, not what it waits: partitions are handed over as soon as they may. */
const atOnce = ['-clusterRebalanceDelay', '0']

/** How soon does a new node serve what a cluster has? */
export const clusterJoin: Bench = {
  name: 'cluster-join',
  question: 'from the start of a node with a new folder until it serves all entities, and its memory; needs etcd',
  run: async (harness) => {
    const start = nodeStart(harness, 'cluster-join', { isShared: false })
    if (start === undefined) return
    const { entities } = harness.options
    const flags = [...start.flags, '-partitions', String(start.partitions)]
    const prepared = new PreparedFolders({ main: start.main, flags })
    try {
      const filled = await prepared.of(entities, (created) =>
        harness.report.progress(`creating devices: ${created} of ${entities}`),
      )
      await NodesUnderTest.with(start, async (nodes) => {
        await nodes.start('n0', { flags: atOnce, filled })
        await nodes.untilPlaced()
        await measure(harness, nodes)
      })
    } finally {
      prepared.remove()
    }
  },
}

/** What a node has taken to join. */
interface Joined {
  readonly serves_s: number
  readonly owns_s: number
  readonly processor_s: number
  readonly resident_MiB: number
  readonly resident_max_MiB: number
  readonly folder_MiB: number
}

/** Each round is a further node: the cluster has one more each time. */
async function measure(harness: Harness, nodes: NodesUnderTest): Promise<void> {
  const { entities, rounds } = harness.options
  const joined: Joined[] = []
  for (let round = 1; round <= rounds; round += 1) {
    harness.report.progress(`cluster-join, node ${round + 1}`)
    joined.push(await joinedBy(nodes, `n${round}`))
  }
  const of = (figure: keyof Joined): readonly number[] => joined.map((each) => each[figure])
  harness.report.add({
    ...{ bench: 'cluster-join', entities, rounds },
    serves_median_s: rounded(median(of('serves_s'))),
    serves_max_s: rounded(Math.max(...of('serves_s'))),
    owns_median_s: rounded(median(of('owns_s'))),
    processor_median_s: rounded(median(of('processor_s'))),
    resident_MiB: rounded(median(of('resident_MiB'))),
    resident_max_MiB: rounded(Math.max(...of('resident_max_MiB'))),
    folder_MiB: rounded(median(of('folder_MiB'))),
  })
}

async function joinedBy(nodes: NodesUnderTest, name: string): Promise<Joined> {
  const folder = new DataFolder()
  const begun_ms = performance.now()
  const since_s = (): number => (performance.now() - begun_ms) / 1000
  let sampling: NodeJS.Timeout | undefined
  let resident_max_MiB = 0
  try {
    const { pid } = await nodes.start(name, {
      flags: atOnce,
      filled: folder,
      begun: (started) => {
        sampling = setInterval(() => {
          resident_max_MiB = Math.max(resident_max_MiB, residentBeyondFiles_MiB(started) ?? 0)
        }, sampled_ms)
      },
    })
    await nodes.untilReady()
    const serves_s = since_s()
    const processor_s = processorTime_ms(pid) / 1000
    const resident_MiB = residentBeyondFiles_MiB(pid) ?? Number.NaN
    await nodes.untilPlaced()
    const folder_MiB = size_bytes(folder.path) / 2 ** 20
    return { serves_s, owns_s: since_s(), processor_s, resident_MiB, resident_max_MiB, folder_MiB }
  } finally {
    clearInterval(sampling)
  }
}

/** What the files of a folder take on the disk. */
function size_bytes(folder: string): number {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(joinPath(parentPath, name)).blocks * 512, 0)
}
