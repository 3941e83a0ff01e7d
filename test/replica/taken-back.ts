import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** A mend of a fault, and what the program would be without it. */
export interface Mend {
  /** What the program did. */
  readonly fault: string
  /** Below `src`. */
  readonly file: string
  readonly now: string
  readonly before: string
}

/** What plays the nodes of a program. */
type Played = Pick<typeof import('./played-logs.js'), 'PlayedLogs'> &
  Pick<typeof import('./played-nodes.js'), 'playNodes'>

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Faults that the played nodes have to find, whoever had found them first. */
export const mends: readonly Mend[] = [
  {
    fault: 'an owner answers what changes nothing without a look at its read lease',
    file: 'mailbox/turn-runner.ts',
    now: 'if (!isLogged && !this.#isConfirmed(batch))',
    before: 'if (!isLogged && batch.length === 0)',
  },
  {
    fault: 'the claim of a dead thread and that of its successor are offered in one request',
    file: 'cluster/appender.ts',
    now: 'if (isEnough || this.#busy.has(log)) {',
    before: 'if (isEnough) {',
  },
  {
    fault: 'an offer that was taken without an answer is fenced by itself',
    file: 'cluster/etcd-engine.ts',
    now: 'if (standing !== undefined && isOwn(standing.value)) return ok(sequence)',
    before: 'if (standing !== undefined && standing.value.length === 0 && isOwn(standing.value)) return ok(sequence)',
  },
  {
    fault: 'a claimant does not wait for the read lease before',
    file: 'replica/read-lease.ts',
    now: 'return mayShow ? before.received + mayShow_ns : 0n',
    before: 'return mayShow && before.received < 0n ? mayShow_ns : 0n',
  },
]

/** The played nodes of a program without a mend, in a folder of their own. */
export async function withoutMend({ file, now, before }: Mend, folder: string): Promise<Played> {
  const path = join(root, 'src', file)
  const text = readFileSync(path, 'utf8')
  if (text.split(now).length !== 2) throw new Error(`${file} does not have the mend once: ${now}`)
  const takenBack: Plugin = {
    name: 'taken back',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path: loaded }) => {
        return loaded === path ? { contents: text.replace(now, before), loader: 'ts' } : undefined
      })
    },
  }
  const of = (name: string): string => join(root, 'test/replica', `${name}.ts`)
  await build({
    ...{ entryPoints: [of('played-nodes'), of('played-logs'), of('played-log-thread')], outdir: folder, bundle: true },
    ...{ format: 'esm', platform: 'node', target: 'node20.15', packages: 'external' },
    ...{ splitting: false, plugins: [takenBack], logLevel: 'silent', absWorkingDir: root },
  })
  const loaded = (name: string) => import(pathToFileURL(join(folder, `${name}.js`)).href)
  return { ...(await loaded('played-logs')), ...(await loaded('played-nodes')) }
}
