import type { LookupAddress } from 'node:dns'
import { test } from 'tap'
import { destinationList } from '../../src/command-line/destination-list.js'
import { Destinations } from '../../src/outbox/destinations.js'

function list(text: string) {
  const parsed = destinationList.parse(text)
  if (!parsed.ok) throw new Error(parsed.refusal)
  return parsed.value
}

function rule(allow: string | undefined, deny?: string): Destinations {
  return new Destinations({
    allow: allow === undefined ? undefined : list(allow),
    deny: deny === undefined ? undefined : list(deny),
  })
}

test('a list holds addresses, networks, names and domains', async (t) => {
  t.same(list('10.0.0.0/8, ::1,Hub.example.,*.lan'), {
    networks: [
      { family: 'ipv4', address: '10.0.0.0', prefix: 8 },
      { family: 'ipv6', address: '::1', prefix: 128 },
    ],
    names: ['hub.example', '*.lan'],
  })
  for (const wrong of [
    '',
    ',',
    'a,,b',
    '10.0.0.0/33',
    '10.0.0.256',
    '1.2.3',
    '::1/129',
    'a b',
    '*',
    'a.*.b',
    'http://a',
    'a:80',
    '-a',
    'fe80::1%eth0',
  ])
    t.notOk(destinationList.parse(wrong).ok, wrong)
})

test('denied is denied, and with a list of what is allowed nothing else is', async (t) => {
  const open = rule(undefined)
  const inside = rule('10.0.0.0/8', '10.1.0.0/16')
  for (const host of ['10.2.0.1', '[::ffff:10.2.0.1]', 'any.name']) t.ok(inside.mayConnect(host), host)
  for (const host of ['10.1.0.1', '11.0.0.1', '[::1]', '[::ffff:10.1.0.1]']) t.notOk(inside.mayConnect(host), host)
  t.ok(open.mayConnect('10.1.0.1'))
  const names = rule(undefined, 'bad.example,*.worse.example')
  for (const host of ['bad.example', 'BAD.example.', 'a.worse.example', 'a.b.worse.example'])
    t.notOk(names.mayConnect(host), host)
  for (const host of ['good.bad.example', 'worse.example', 'notworse.example']) t.ok(names.mayConnect(host), host)
})

test('a name leads only to those of its addresses that are allowed', async (t) => {
  const found = (destinations: Destinations, all: boolean) =>
    new Promise<string | readonly string[]>((resolve) => {
      destinations.lookup('localhost', { all }, (fault, found: string | LookupAddress[]) => {
        if (fault !== null) resolve(String(fault.code))
        else resolve(typeof found === 'string' ? found : found.map(({ address }) => address))
      })
    })
  t.same(await found(rule('127.0.0.0/8'), true), ['127.0.0.1'])
  t.equal(await found(rule('127.0.0.1', '::1'), false), '127.0.0.1')
  t.equal(await found(rule(undefined, '127.0.0.0/8,::1'), true), 'DESTINATION_DENIED')
  t.equal(await found(rule('10.0.0.0/8'), false), 'DESTINATION_DENIED')
  t.not(await found(rule('localhost'), false), 'DESTINATION_DENIED', 'the name is allowed, wherever it leads')
  t.equal(await found(rule('localhost', '127.0.0.0/8,::1'), false), 'DESTINATION_DENIED', 'denial wins')
})
