import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type Test, test } from 'tap'
import { consoleResources, PageFiles } from '../../src/api/console/page-serving.js'
import { builtFile } from '../../src/version.js'
import { givenFrontEnd, managementResources } from '../http/given.js'

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
const index = '<!doctype html><title>Rigel</title>'
const script = 'export const name = "Rigel"'

/** A folder with a console of two files, and something beside them that is none of it. */
function givenFolder(t: Test): string {
  const folder = t.testdir({ console: {}, 'secret.js': 'secret', 'secret.js.gz': 'secret' })
  const put = (name: string, text: string) => {
    writeFileSync(join(folder, 'console', name), text)
    writeFileSync(join(folder, 'console', `${name}.gz`), gzipSync(text))
  }
  put('index.html', index)
  put('app-ABC.js', script)
  writeFileSync(join(folder, 'console', 'notes.txt'), 'not for browsers')
  mkdirSync(join(folder, 'console', 'inner'))
  return join(folder, 'console')
}

async function given(t: Test, adminPort?: number) {
  const resources = [
    ...managementResources,
    ...consoleResources(new PageFiles(givenFolder(t)), { needsToken: false, ofCluster: false, openReads: [] }),
  ]
  const { frontEnd } = await givenFrontEnd(t, { adminPort }, undefined, { management: resources })
  return frontEnd
}

const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('the page is checked for each time, its files are kept for ever, and both come with the headers that protect them', async (t) => {
  const { port } = await given(t)
  for (const [path, kept, type, text] of [
    ['/console', 'no-cache', 'text/html; charset=utf-8', index],
    ['/console/', 'no-cache', 'text/html; charset=utf-8', index],
    ['/console/app-ABC.js', 'public, max-age=31536000, immutable', 'text/javascript; charset=utf-8', script],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'Accept-Encoding': 'identity' } })
    t.equal(response.status, 200, path)
    t.equal(await response.text(), text)
    t.match(Object.fromEntries(response.headers), {
      'content-type': type,
      'content-length': String(text.length),
      'cache-control': kept,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      vary: 'Accept-Encoding',
      etag: /^"[\w-]{22}"$/,
    })
    t.notOk(response.headers.has('content-encoding'))
  }
})

test('who takes gzip gets it, and who has a file already gets none', async (t) => {
  const { port } = await given(t)
  const url = `http://127.0.0.1:${port}/console/app-ABC.js`
  const head = async (headers: Record<string, string>) => fetch(url, { method: 'HEAD', headers })
  for (const [accepted, encoding] of [
    ['gzip', 'gzip'],
    ['br, gzip;q=0.5', 'gzip'],
    ['*', 'gzip'],
    ['gzip;q=0', null],
    ['br', null],
  ] as const) {
    t.equal((await head({ 'Accept-Encoding': accepted })).headers.get('content-encoding'), encoding, accepted)
  }
  const packed = await fetch(url, { headers: { 'Accept-Encoding': 'gzip' } })
  t.equal(await packed.text(), script, 'what was packed is what it was')
  const tag = packed.headers.get('etag') ?? ''
  const again = await fetch(url, { headers: { 'If-None-Match': `"other", W/${tag}`, 'Accept-Encoding': 'gzip' } })
  t.equal(again.status, 304)
  t.equal(await again.text(), '')
  const plain = await fetch(url, { headers: { 'If-None-Match': tag, 'Accept-Encoding': 'identity' } })
  t.equal(plain.status, 200, 'what is packed is another representation')
})

test('only browsers are led to the console from the port itself; others get what they always got', async (t) => {
  const { port } = await given(t)
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
  for (const path of ['/', '/favicon.ico']) {
    const led = await send(path, { headers: browser })
    t.equal(led.status, 302, path)
    t.equal(led.headers.get('location'), '/console')
    const without = await (await givenFrontEnd(t)).frontEnd
    for (const init of [
      {},
      { headers: { Accept: 'application/json' } },
      { method: 'POST', headers: browser, body: '{}' },
    ]) {
      const [now, before] = [await send(path, init), await fetch(`http://127.0.0.1:${without.port}${path}`, init)]
      t.equal(now.status, before.status)
      t.equal(await now.text(), await before.text())
    }
  }
})

test('no path reaches the file system: what is not in the list is unknown', async (t) => {
  const { port } = await given(t)
  for (const path of [
    '/console/../secret.js',
    '/console/..%2Fsecret.js',
    '/console/%2e%2e%2fsecret.js',
    '/console/..%5Csecret.js',
    '/console//etc/passwd',
    '/console/%2Fetc%2Fpasswd',
    '/console/app-ABC.js.gz',
    '/console/app-ABC.js%00',
    '/console/notes.txt',
    '/console/inner',
    '/console/index.html',
    '/console/constructor',
    '/console/__proto__',
    '/console/app-ABC.js/..',
    '/CONSOLE/app-ABC.js',
    '/console/%ff',
  ]) {
    const { status, text } = await raw(port, path)
    t.ok(status === 404 || status === 400, `${path} is ${status}`)
    t.notMatch(text, /secret|root:|Rigel"/, path)
  }
})

test('on a port of its own the management brings the console there, and clients find nothing of it', async (t) => {
  const { port, adminPort = 0 } = await given(t, 0)
  t.equal((await fetch(`http://127.0.0.1:${adminPort}/console`)).status, 200)
  const known = await (await givenFrontEnd(t)).frontEnd
  for (const path of ['/', '/console', '/console/app-ABC.js']) {
    const [here, before] = await Promise.all(
      [port, known.port].map(async (each) => {
        const response = await fetch(`http://127.0.0.1:${each}${path}`, { headers: browser, redirect: 'manual' })
        return { status: response.status, text: await response.text() }
      }),
    )
    t.same(here, before, path)
  }
})

test('where it was not built, it is said how to get it', async (t) => {
  const resources = [
    ...managementResources,
    ...consoleResources(new PageFiles(join(t.testdir(), 'nothing')), {
      needsToken: false,
      ofCluster: false,
      openReads: [],
    }),
  ]
  const { frontEnd } = await givenFrontEnd(t, {}, undefined, { management: resources })
  const response = await fetch(`http://127.0.0.1:${frontEnd.port}/console`)
  t.equal(response.status, 503)
  t.match(await response.text(), 'npm run build')
  t.equal((await fetch(`http://127.0.0.1:${frontEnd.port}/console/app.js`)).status, 404)
})

test('whether a token is needed is known without one', async (t) => {
  for (const needsToken of [true, false]) {
    const { frontEnd } = await givenFrontEnd(t, needsToken ? { adminToken: 'secret' } : {}, undefined, {
      management: consoleResources(new PageFiles('.'), {
        needsToken,
        ofCluster: !needsToken,
        openReads: ['/admin/live'],
      }),
    })
    const response = await fetch(`http://127.0.0.1:${frontEnd.port}/console/access.json`)
    const facts = { needsToken, ofCluster: !needsToken, openReads: ['/admin/live'] }
    t.same(await response.json(), { ...facts, mayReadAll: true })
    const elsewhere = { headers: { 'X-Forwarded-For': '203.0.113.9' } }
    const far = await fetch(`http://127.0.0.1:${frontEnd.port}/console/access.json`, elsewhere)
    t.same(await far.json(), { ...facts, mayReadAll: needsToken }, 'elsewhere a token decides')
    t.equal(response.headers.get('cache-control'), 'no-store')
  }
})

test('what the build made can be served', async (t) => {
  const files = new PageFiles(builtFile('console'))
  const page = await files.find('index.html')
  const text = Buffer.from(page?.plain ?? []).toString()
  const names = [...text.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, name = '']) => name)
  t.ok(names.length >= 3, 'icon, style and program')
  for (const name of names) {
    const file = await files.find(name)
    t.match(name, /-[A-Z0-9]{8}\.(svg|css|js)$/)
    t.same(gunzipSync(file?.gzip ?? ''), Buffer.from(file?.plain ?? []), name)
  }
})

/** A request whose path goes out as it is: `fetch` would resolve it first. */
function raw(port: number, path: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => {
        text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end()
  })
}
