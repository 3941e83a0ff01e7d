import { hostname } from 'node:os'
import { err, ok } from '../result.js'
import { flagsOf, named, type ValueKind } from './flag.js'
import { textFlag } from './flag-values.js'

const cluster = flagsOf('Cluster')

const nameMost = 64

/** What names a cluster or a node: it stands in keys, in records and in lines. */
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

/** Where the keys of a cluster begin. */
const keyPrefix: ValueKind<string> = {
  shown: 'prefix',
  parse: (text) =>
    /^[A-Za-z0-9._/-]{1,128}$/.test(text) && !text.endsWith('/')
      ? ok(text)
      : err(
          'is not a prefix of letters, digits, dots, hyphens, underscores and slashes, of at most 128, without a slash at its end',
        ),
}

const noUrls: readonly string[] = []

/** The flags of a broker whose logs stand in etcd. */
export const clusterFlags = named({
  cluster: cluster.optional(plainName, 'cluster that this broker is of: its logs stand in etcd; needs -clusterUrl'),
  clusterUrl: cluster.other(memberUrls, [noUrls, 'none'], 'members of etcd'),
  clusterPrefix: cluster.other<string | undefined>(
    keyPrefix,
    [undefined, '/rigel/ and the cluster'],
    'where its keys begin in etcd',
  ),
  nodeName: cluster.other<string | undefined>(
    plainName,
    [undefined, 'name of the host'],
    'names this broker in its records',
  ),
  etcdCa: cluster.optional(textFlag('file'), 'authority that signed the certificates of etcd (PEM)'),
  etcdCert: cluster.optional(textFlag('file'), 'certificate shown to etcd (PEM); needs -etcdKey'),
  etcdKey: cluster.optional(textFlag('file'), 'its private key (PEM)'),
  etcdUser: cluster.optional(textFlag('name'), 'user of etcd; needs -etcdPasswordFile'),
  etcdPasswordFile: cluster.optional(textFlag('file'), 'file whose first line is the password of that user'),
} as const)

/** The name of this node where none was given: that of the host, as far as it is one. */
export function defaultNodeName(): string {
  return hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, nameMost)
}
