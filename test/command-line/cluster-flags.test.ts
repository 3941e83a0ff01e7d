import { test } from 'tap'
import { readOptions } from '../../src/command-line/command-line.js'

const url = 'http://10.0.0.1:2379,http://10.0.0.2:2379'

test('a cluster has members, a place in etcd and a name for this node', async (t) => {
  const read = readOptions(['-cluster', 'city', '-clusterUrl', url, '-nodeName', 'north'], {})
  if (read.kind !== 'run') throw new Error(read.text)
  t.match(read.options.cluster, {
    name: 'city',
    urls: ['http://10.0.0.1:2379', 'http://10.0.0.2:2379'],
    prefix: '/rigel/city',
    node: 'north',
  })
  t.equal(read.options.cluster?.link, undefined, 'it is of one node')
  const several = readOptions(['-cluster', 'city', '-clusterUrl', url, '-clusterTokenFile', 'tokens'], {})
  if (several.kind !== 'run') throw new Error(several.text)
  t.match(
    several.options.cluster?.link,
    { port: 1027, tokenFile: 'tokens' },
    'what nodes know each other by makes it one of several',
  )
  const alone = readOptions([], {})
  t.equal(alone.kind === 'run' && alone.options.cluster, undefined)
})

test('flags of a cluster that do not go together are refused in words', async (t) => {
  const refusals: readonly (readonly [words: readonly string[], text: string | RegExp])[] = [
    [['-cluster', 'city'], '-cluster needs -clusterUrl'],
    [['-clusterUrl', url], '-clusterUrl needs -cluster'],
    [['-etcdUser', 'rigel'], '-etcdUser needs -cluster'],
    [['-clusterPort', '1027'], '-clusterPort needs -cluster'],
    [
      ['-cluster', 'city', '-clusterUrl', url, '-clusterPort', '1027'],
      /-clusterPort needs -clusterTokenFile or -clusterKey/,
    ],
    [['-cluster', 'city', '-clusterUrl', url, '-clusterAdvertise', 'a'], /-clusterAdvertise needs -clusterTokenFile/],
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
