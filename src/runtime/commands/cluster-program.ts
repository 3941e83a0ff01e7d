import { clusterText, shownCluster } from '../../broker/front-end/cluster-status.js'
import { removeNode } from '../../cluster/membership/node-removal.js'
import { commandCodes } from '../../data/offline/command.js'
import { failureText } from '../../faults.js'
import { asksForHelp } from '../../flags/asks-for-help.js'
import { readOptions } from '../../flags/command-line.js'
import { err, ok, type Result } from '../../result.js'
import { readClusterState } from '../../storage/etcd/cluster-state.js'
import { EtcdClient } from '../../storage/etcd/etcd-client.js'
import { EtcdEngine } from '../../storage/etcd/etcd-engine.js'
import { type ClusterOptions, etcdSettings } from '../join-rules.js'
import { recoverCluster } from './cluster-recovery.js'

/** How long each call to etcd may take: who asks by hand would rather wait for a slow one than ask again. */
const call_ms = 10_000

const help = `Usage: rigel cluster status [--json] FLAGS
       rigel cluster remove NAME FLAGS
       rigel cluster recover [--copy FOLDER]... FLAGS

Shows a cluster as it is in etcd, whether its brokers run or not, removes a node that will not return, or recovers the cluster after
etcd has lost its data.

  status       members and their leases, who owns which partition, how far the replicas are, and what is wrong
    --json     the same as JSON, as GET /admin/cluster of a broker
  remove NAME  removes a node, so that the logs are no longer kept for it; not a member, nor the last node that has a part of a log
  recover      begins each log anew behind what the data folder of -dbPath has; end all brokers first; if a cluster is in etcd, it
               changes nothing
    --copy FOLDER  the data folder of another node, of which the longer logs are taken

FLAGS are the broker's flags for the cluster and for etcd: -cluster and -clusterUrl, -clusterPrefix,
-etcdCa, -etcdCert, -etcdKey, -etcdUser, -etcdPasswordFile. The command also reads their
variables, as the broker does. The exit code is 0 if it is done, 1 if not, and 2 for a wrong command line.
`

const [task = '', ...words] = process.argv.slice(2)
if (asksForHelp([task, ...words])) process.stdout.write(help)
else process.exitCode = await run()

async function run(): Promise<number> {
  if (task === 'status') {
    const isJson = words.includes('--json')
    return using(
      words.filter((word) => word !== '--json'),
      (parts) => status(parts, isJson),
    )
  }
  if (task === 'recover') return recovery()
  const [name, ...flags] = words
  if (task === '') return wrong('rigel cluster needs status, remove or recover')
  if (task !== 'remove') return wrong(`'${task}' is no task of rigel cluster`)
  if (name === undefined || name.startsWith('-')) return wrong('rigel cluster remove needs the name of a node')
  return using(flags, (parts) => removal(parts, name))
}

function recovery(): number | Promise<number> {
  const [others, flags]: [string[], string[]] = [[], []]
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (word !== '--copy') flags.push(word)
    else {
      at += 1
      const folder = words[at]
      if (folder === undefined || folder.startsWith('-')) return wrong('--copy needs a data folder')
      others.push(folder)
    }
  }
  return using(flags, ({ client, engine, options, dbPath: folder }) =>
    recoverCluster({ client, engine, options, folder, others }),
  )
}

interface Parts {
  readonly client: EtcdClient
  readonly engine: EtcdEngine
  readonly prefix: string
  readonly options: ClusterOptions
  readonly dbPath: string
}

async function status({ client, prefix }: Parts, isJson: boolean): Promise<Result<string, string>> {
  const read = await readClusterState(client, prefix)
  if (!read.ok) return read
  const shown = shownCluster(read.value, prefix)
  return ok(isJson ? `${JSON.stringify(shown)}\n` : clusterText(shown))
}

async function removal(parts: Parts, name: string): Promise<Result<string, string>> {
  const removed = await removeNode(parts, name)
  return removed.ok ? ok(`node ${name} is no node of the cluster any more\n`) : removed
}

/** Connects to the etcd that flags and variables name, runs a function with it, and prints the outcome. */
async function using(
  flags: readonly string[],
  work: (parts: Parts) => Promise<Result<string, string>>,
): Promise<number> {
  const read = readOptions([...flags], process.env, false)
  if (read.kind !== 'run') return wrong(read.text.split('\n', 1)[0] ?? '')
  const { cluster, dbPath } = read.options
  if (cluster === undefined) return wrong('give -cluster and -clusterUrl')
  const done = await connected(cluster, dbPath, work)
  if (done.ok) process.stdout.write(done.value)
  else process.stderr.write(`rigel cluster ${task}: ${done.error}\n`)
  return done.ok ? commandCodes.done : commandCodes.failed
}

async function connected(
  options: ClusterOptions,
  dbPath: string,
  work: (parts: Parts) => Promise<Result<string, string>>,
): Promise<Result<string, string>> {
  const settings = etcdSettings(options)
  if (!settings.ok) return settings
  const { prefix } = options
  try {
    const client = new EtcdClient(settings.value, call_ms)
    const engine = new EtcdEngine(settings.value, prefix, client)
    try {
      return await work({ client, engine, prefix, options, dbPath })
    } finally {
      engine.close() // With the client.
    }
  } catch (fault) {
    return err(failureText(fault))
  }
}

function wrong(line: string): number {
  process.stderr.write(`${line}\n'rigel help cluster' says what it takes\n`)
  return commandCodes.notTried
}
