import { JSDOM, VirtualConsole } from 'jsdom'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

/** What of a browser the page uses and jsdom or Node does not have. */
const missing = {
  matchMedia: () => ({ matches: false, addEventListener: () => {} }),
  ResizeObserver: class {
    observe(): void {}
    disconnect(): void {}
  },
}

/** Gives this process the globals of a browser that has opened an address, since its modules are those of the page. */
function openBrowser(html: string, url: string): JSDOM {
  const browser = new JSDOM(html, { url, pretendToBeVisual: true, virtualConsole: new VirtualConsole() })
  const { window } = browser
  const { fetch: fetchByUrl, setTimeout: later, setInterval: repeatedly } = globalThis
  Object.assign(window.HTMLDialogElement.prototype, { close: () => {}, showModal: () => {} })
  const given = {
    window,
    document: window.document,
    location: window.location,
    history: window.history,
    navigator: window.navigator,
    localStorage: window.localStorage,
    sessionStorage: window.sessionStorage,
    addEventListener: window.addEventListener.bind(window),
    requestAnimationFrame: window.requestAnimationFrame.bind(window),
    cancelAnimationFrame: window.cancelAnimationFrame.bind(window),
    ...missing,
    // Those of the page do not keep the process.
    setTimeout: (act: () => void, wait_ms?: number) => later(act, wait_ms).unref(),
    setInterval: (act: () => void, wait_ms?: number) => repeatedly(act, wait_ms).unref(),
    fetch: (path: string, init?: RequestInit) => fetchByUrl(new URL(path, url), init),
  }
  for (const [name, value] of Object.entries(given)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  return browser
}

test('the page of the console shows what a broker has stored', async (t) => {
  const broker = await RunningBroker.start(t)
  await broker.update('APPEND', { id: 'Silo-of-the-page', type: 'Silo' })
  const { status, text } = await broker.send('GET', '/console')
  t.equal(status, 200)
  const browser = openBrowser(text, `${broker.url}/console#/entities`)
  const page = new URL('../../src/api/console/page/console.js', import.meta.url)
  await import(page.href)
  const shown = () => browser.window.document.getElementById('console')?.textContent ?? ''
  await until(() => shown().includes('Silo-of-the-page'))
  t.match(browser.window.document.querySelector('h1')?.textContent, /Entities/)
  t.match(shown(), /Subscriptions.*Registrations/, 'the navigation is there')

  const { compareVersions, read, sentenceOf } = await import('../../src/api/console/page/session.js')
  const { live } = await import('../../src/api/console/page/live-state.js')
  await until(() => live.value !== undefined)
  t.notMatch(shown(), 'Rigel was updated', 'the broker is of the version that the page was built from')
  compareVersions({ version: '0.0.0', gitHash: 'another' })
  await until(() => shown().includes('Rigel was updated: reload.'))
  const fault: unknown = await read('/admin/config').catch((thrown) => thrown)
  t.equal(sentenceOf(fault), 'Rigel was updated: load the page again', 'nothing is taken for something else')
})
