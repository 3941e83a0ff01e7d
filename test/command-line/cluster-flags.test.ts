import { test } from 'tap'
import { readOptions } from '../../src/flags/command-line.js'

const url = 'http://10.0.0.1:2379,http://10.0.0.2:2379'

test('a cluster has members, a place in etcd and a name for this node', async (t) => {
  const words = ['-cluster', 'city', '-clusterUrl', url, '-nodeName', 'north']
  const read = readOptions([...words, '-clusterTokenFile', 'tokens'], {})
  if (read.kind !== 'run') throw new Error(read.text)
  t.match(read.options.cluster, {
    name: 'city',
    urls: ['http://10.0.0.1:2379', 'http://10.0.0.2:2379'],
    prefix: '/rigel/city',
    node: 'north',
    link: { port: 1027, tokenFile: 'tokens' },
  })
  t.match(
    readOptions(words, {}, false),
    { kind: 'run' },
    'who asks about it needs nothing that nodes know each other by',
  )
  const alone = readOptions([], {})
  t.equal(alone.kind === 'run' && alone.options.cluster, undefined)
})

test('flags of a cluster that do not go together are refused with a text for the operator', async (t) => {
  const refusals: readonly (readonly [words: readonly string[], text: string | RegExp])[] = [
    [['-cluster', 'city'], '-cluster needs -clusterUrl'],
    [['-clusterUrl', url], '-clusterUrl needs -cluster'],
    [['-etcdUser', 'rigel'], '-etcdUser needs -cluster'],
    [['-clusterPort', '1027'], '-clusterPort needs -cluster'],
    [['-cluster', 'city', '-clusterUrl', url], /-cluster needs -clusterTokenFile or -clusterKey: nodes have to know/],
    [['-cluster', 'city', '-clusterUrl', url, '-clusterKey', 'key.pem'], '-clusterKey needs -clusterCert'],
    [['-cluster', 'a b', '-clusterUrl', url], /'a b' is not a name of letters/],
    [['-cluster', 'city', '-clusterUrl', '10.0.0.1:2379'], /is not a list of etcd members/],
    [['-cluster', 'city', '-clusterUrl', 'http://a:1,https://b:1'], /has members with http and with https/],
    [['-cluster', 'city', '-clusterUrl', url, '-clusterPrefix', '/rigel/'], /is not a prefix/],
    [['-cluster', 'city', '-clusterUrl', url, '-etcdUser', 'rigel'], '-etcdUser needs -etcdPasswordFile'],
    [['-cluster', 'city', '-clusterUrl', 'https://a:1', '-etcdCert', 'c.pem'], '-etcdCert needs -etcdKey'],
    [['-cluster', 'city', '-clusterUrl', url, '-etcdCa', 'ca.pem'], '-etcdCa needs a -clusterUrl with https'],
    [['-cluster', 'city', '-clusterUrl', url, '-writeConcern', '0'], /-writeConcern 0 and -cluster cannot be used/],
  ]
  for (const [words, text] of refusals) {
    const read = readOptions(words, {})
    if (read.kind === 'run') t.fail(`${words.join(' ')} was taken`)
    else t.match(read.text, text)
  }
})
