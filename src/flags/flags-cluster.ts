import { hostname } from 'node:os'
import { err, ok } from '../result.js'
import { flagsOf, named, type ValueKind } from './flag.js'
import { address, integer, oneOf, textFlag } from './flag-values.js'

const cluster = flagsOf('Cluster')
const needing = (flag: string) => flagsOf('Cluster', flag)

const nameMost = 64

/** The name of a cluster or a node, which occurs in keys, records and lines. */
const plainName: ValueKind<string> = {
  shown: 'name',
  parse: (text) =>
    /^[A-Za-z0-9._-]+$/.test(text) && text.length <= nameMost
      ? ok(text)
      : err(`is not a name of letters, digits, dots, hyphens and underscores, of at most ${nameMost}`),
}

/** The members of etcd, separated by commas: all with HTTP or all with HTTPS. */
const memberUrls: ValueKind<readonly string[]> = {
  shown: 'http[s]://host:port[,...]',
  parse: (text) => {
    const urls = text.split(',').map((word) => word.trim())
    const origins = urls.map((url) => (URL.canParse(url) ? new URL(url) : undefined))
    const isOrigin = (url: URL | undefined): boolean =>
      url !== undefined && /^https?:$/.test(url.protocol) && url.port !== '' && url.href === `${url.origin}/`
    if (!origins.every(isOrigin))
      return err('is not a list of etcd members, such as http://10.0.0.1:2379,http://10.0.0.2:2379')
    if (new Set(origins.map((url) => url?.protocol)).size > 1) return err('has members with http and with https')
    return ok(origins.map((url) => url?.origin ?? ''))
  },
}

/** The prefix of a cluster's keys. */
const keyPrefix: ValueKind<string> = {
  shown: 'prefix',
  parse: (text) =>
    /^[A-Za-z0-9._/-]{1,128}$/.test(text) && !text.endsWith('/')
      ? ok(text)
      : err(
          'is not a prefix of letters, digits, dots, hyphens, underscores and slashes, of at most 128, without a slash at its end',
        ),
}

/** Where other nodes reach a node; without a port, that of its listener is meant. */
interface Advertised {
  readonly host: string
  readonly port: number | undefined
}

const advertised: ValueKind<Advertised> = {
  shown: 'host[:port]',
  parse: (text) => {
    const [, inBrackets, plain, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
    const host = inBrackets ?? plain
    if (host === undefined || Number(port ?? 1) > 65535 || Number(port ?? 1) === 0)
      return err('is not a host with or without a port, such as broker-1:1027 or [2001:db8::1]:1027')
    return ok({ host, port: port === undefined ? undefined : Number(port) })
  },
}

const noUrls: readonly string[] = []

/** The flags of a broker whose logs are in etcd. */
export const clusterFlags = named({
  cluster: cluster.optional(
    plainName,
    'cluster that this broker is a node of: its logs are in etcd; needs -clusterUrl, and -clusterTokenFile or -clusterKey',
  ),
  clusterUrl: cluster.other(memberUrls, [noUrls, 'none'], 'members of etcd'),
  clusterPrefix: cluster.other<string | undefined>(
    keyPrefix,
    [undefined, '/rigel/ and the cluster'],
    'where its keys begin in etcd',
  ),
  nodeName: cluster.other<string | undefined>(
    plainName,
    [undefined, 'name of the host'],
    'names this broker in its cluster: each node has its own name, and keeps it',
  ),
  clusterPort: cluster.value(integer(0, 65535), 1027, 'port for other nodes; 0: any'),
  clusterIp: cluster.optional(address, 'address for other nodes; none: all that the machine has'),
  clusterAdvertise: cluster.other<Advertised | undefined>(
    advertised,
    [undefined, 'name of the host'],
    'where other nodes reach this one, with -clusterPort unless a port is given',
  ),
  clusterKey: needing('clusterCert').optional(
    textFlag('file'),
    'private key for other nodes (PEM); needs -clusterCert and -clusterCa',
  ),
  clusterCert: needing('clusterCa').optional(textFlag('file'), 'certificate shown to other nodes (PEM)'),
  clusterCa: needing('clusterKey').optional(
    textFlag('file'),
    'authority of the certificates of all nodes, and of nothing else (PEM)',
  ),
  clusterTokenFile: cluster.optional(
    textFlag('file'),
    'file of the tokens that nodes know each other by, one in a line',
  ),
  clusterLogMax: cluster.value(
    integer(1, 4096),
    64,
    'MiB of each log that are kept in etcd for a node that does not follow; beyond it that node fetches a snapshot',
  ),
  clusterRebalanceDelay: cluster.value(
    integer(0, 86_400),
    10,
    'seconds after the last node came or went until partitions return to their nodes: if it is longer than a restart, they stay where they are until a rolling restart is over',
  ),
  clusterReads: cluster.value(
    oneOf('confirmed', 'local'),
    'confirmed',
    'whether reads show all that was acknowledged on any node, or at once what this one has',
  ),
  etcdCa: cluster.optional(textFlag('file'), 'authority that signed the certificates of etcd (PEM)'),
  etcdCert: needing('etcdKey').optional(textFlag('file'), 'certificate shown to etcd (PEM); needs -etcdKey'),
  etcdKey: needing('etcdCert').optional(textFlag('file'), 'its private key (PEM)'),
  etcdUser: needing('etcdPasswordFile').optional(textFlag('name'), 'user of etcd; needs -etcdPasswordFile'),
  etcdPasswordFile: needing('etcdUser').optional(
    textFlag('file'),
    'file whose first line is the password of that user',
  ),
} as const)

/** The default name of this node: that of the host, reduced to allowed characters. */
export function defaultNodeName(): string {
  return hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, nameMost)
}
