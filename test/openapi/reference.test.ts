import { createHash } from 'node:crypto'
import { t as root, test } from 'tap'
import { flagsByName } from '../../src/flags/flags.js'
import { RunningBroker } from '../running.js'
import { described } from './given-description.js'

const broker = await RunningBroker.start(root, [
  '-adminToken',
  'a-token-of-the-management',
  '-corsOrigin',
  '__ALL',
  '-statCounters',
])
const page = await broker.send('GET', '/docs')

test('the page has every operation, and its links lead somewhere', async (t) => {
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  const anchors = new Set([...page.text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id))
  for (const { operation } of described) t.ok(anchors.has(operation.operationId), operation.operationId)
  for (const [, target = ''] of page.text.matchAll(/ href="([^"]*)"/g)) {
    t.ok(target === 'openapi.json' || target === '/docs/flags' || anchors.has(target.slice(1)), target)
  }
})

test('every flag stands under its name, with its values, its default and its variable', async (t) => {
  const { status, text } = await broker.send('GET', '/docs/flags')
  t.equal(status, 200)
  const anchors = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
  t.equal(new Set(anchors).size, anchors.length, 'each name once')
  for (const name of flagsByName.keys()) t.ok(anchors.includes(name), name)
  for (const [, target = ''] of text.matchAll(/ href="([^"]*)"/g)) {
    t.ok(target === '/docs' || anchors.includes(target.slice(1)), target)
  }
  t.match(text, '<b>-port</b></a> <code>1 to 65535</code> <i>default 1026, variable <code>ORION_PORT</code></i>')
  t.match(text, /<div id="https">.*<a href="#key">-key<\/a>/, 'other flags that it names are links')
  t.notMatch(text, /<script|\son\w+=/)
})

test('the page runs nothing, loads nothing, and its policy allows its own style alone', async (t) => {
  t.notMatch(page.text, /<script|\son\w+=|\ssrc=|https?:\/\/(?!(alerts|sensors|maps|rigel)\.example)|@import|url\(/)
  const style = /<style>(.*)<\/style>/s.exec(page.text)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  t.equal(
    page.headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
})

test('both answer HEAD, whatever is accepted, without a token', async (t) => {
  for (const path of ['/docs', '/docs/', '/docs/flags', '/openapi.json']) {
    const { status, headers, text } = await broker.send('HEAD', path, undefined, { Accept: 'image/png' })
    t.equal(status, 200, path)
    t.equal(text, '')
    t.ok(Number(headers.get('content-length')) > 10_000)
  }
})

test('other verbs and other paths have errors in the short form', async (t) => {
  const { status, headers, json } = await broker.send('DELETE', '/openapi.json')
  t.equal(status, 405)
  t.equal(headers.get('allow'), 'GET')
  t.same(json, { error: 'MethodNotAllowed', description: 'method not allowed' })
  t.same((await broker.send('GET', '/docs/more')).json, { error: 'BadRequest', description: 'service not found' })
  t.match((await broker.send('GET', '/Docs')).json, { orionError: { details: 'service not found' } })
})

test('pages of other origins may read both', async (t) => {
  const headers = { Origin: 'http://editor.example' }
  for (const path of ['/docs', '/openapi.json']) {
    const read = await broker.send('GET', path, undefined, headers)
    t.equal(read.headers.get('access-control-allow-origin'), '*', path)
    const request = await broker.send('OPTIONS', path, undefined, headers)
    t.equal(request.status, 200)
    t.equal(request.headers.get('access-control-allow-methods'), 'GET, OPTIONS')
  }
})

test('both are counted like any other resource', async (t) => {
  const { json } = await broker.send('GET', '/statistics', undefined, {
    Authorization: 'Bearer a-token-of-the-management',
  })
  t.match(json, { counters: { requests: { '/docs': { GET: Number }, '/openapi.json': { GET: Number } } } })
})
