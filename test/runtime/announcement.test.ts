import { test } from 'tap'
import { readOptions } from '../../src/flags/command-line.js'
import { announcement } from '../../src/runtime/announcement.js'

/** The addresses that a broker with these flags prints when it is ready on port 1026. */
function addressesWith(...flags: readonly string[]): Readonly<Record<string, string>> {
  const read = readOptions(flags, {})
  if (read.kind !== 'run') throw new Error('the options are wrong')
  const rows = announcement(read.options, { port: 1026, partitions: 1 }).matchAll(/^ {2}(address|console) +(.+)$/gm)
  return Object.fromEntries([...rows].map(([, name = '', text = '']) => [name, text]))
}

test('the addresses are ones that a browser on the machine can open', async (t) => {
  t.same(addressesWith(), {
    ...{ address: 'http://localhost:1026, on all addresses', console: 'http://localhost:1026/console' },
  })
  t.equal(addressesWith('-localIp', '10.0.0.9')['console'], 'http://10.0.0.9:1026/console')
  t.same(addressesWith('-localIp', '0.0.0.0'), {
    ...{ address: 'http://localhost:1026, on all addresses of IPv4', console: 'http://localhost:1026/console' },
  })
  const ofManagement = (address: string) =>
    addressesWith('-adminPort', '1027', '-adminIp', address, '-adminToken', 'a-token-of-the-management')['console']
  t.equal(ofManagement('0.0.0.0'), 'http://localhost:1027/console')
  t.equal(ofManagement('::'), 'http://localhost:1027/console')
  t.equal(ofManagement('::1'), 'http://[::1]:1027/console')
})
