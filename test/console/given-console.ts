import type { Test } from 'tap'
import { RunningBroker } from '../running.js'
import { type Appearance, appearances, ConsoleTab, keepPicturesOnFailure, pageIds, startBrowser } from './browser.js'
import { Load } from './given-load.js'

/** What nobody may be able to have carried out by storing it. */
const hostile = '<img src=x onerror=alert(1)>\u202e'
/** The same where NGSI forbids some of its characters, with what stands for them. */
export const receiver = 'http://127.0.0.1:9/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E'

/** Gives the addresses of what is shown in full, one of each kind. */
async function storeHostile(broker: RunningBroker): Promise<readonly string[]> {
  const made = async (path: string, body: object) => {
    const { headers, text } = await broker.send('POST', path, body)
    const id = headers.get('location')?.split('/').at(-1)?.split('?')[0]
    if (id === undefined) throw new Error(text)
    return id
  }
  const subscription = await made('/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type: 'Room' }] },
    notification: { http: { url: receiver } },
  })
  const value = { type: 'TextUnrestricted', value: hostile }
  const place = { type: 'geo:point', value: '40.4, -3.7' }
  await made('/v2/entities', { id: 'Hostile', type: 'Room', place, note: { ...value, metadata: { m: value } } })
  const registration = await made('/v2/registrations', {
    dataProvided: { entities: [{ idPattern: '.*', type: 'Weather' }], attrs: ['wind'] },
    provider: { http: { url: 'http://127.0.0.1:9/v2' } },
  })
  return [
    'entities?id=Hostile',
    'entities?view=map&type=Room',
    `subscriptions?id=${subscription}`,
    `registrations?id=${registration}`,
  ]
}

/** A broker under load in which somebody has stored what is hostile, and a tab with its console, which shows figures. */
export async function givenConsole(t: Test, look: Appearance = appearances[0]) {
  const flags = ['-localIp', '127.0.0.1', '-partitions', '2', '-statSemWait', '-logLevel', 'INFO']
  const broker = await RunningBroker.start(t, flags)
  const details = await storeHostile(broker)
  const load = new Load(t, broker)
  load.begin(100)
  const browser = await startBrowser(t)
  const tab = await ConsoleTab.open(browser, broker.url, '', look)
  keepPicturesOnFailure(t, tab)
  await tab.drawn('overview')
  // Figures need two frames.
  await tab.page.locator('.stages').waitFor()
  return { broker, load, tab, details }
}

/**
 * Looks at every page, and at one of each that is shown in full, in the window of this width, in both themes: it is as wide as the window, has nothing that axe finds,
 * says nothing in the console of the browser, and asks nobody else.
 */
export async function checkAppearance(t: Test, width: Appearance['width']): Promise<void> {
  const looks = appearances.filter((look) => look.width === width)
  const { tab, details } = await givenConsole(t, looks[0])
  for (const look of looks) {
    await tab.look(look)
    for (const view of [...pageIds, ...details]) {
      const name = `${view}, ${look.theme}, ${look.width}`
      await tab.show(view)
      await unfold(tab)
      t.notOk(await tab.scrollsSideways(), name)
      // The themes differ in their colours alone.
      t.same(await tab.accessibilityFaults(...(look.theme === 'light' ? [] : ['color-contrast'])), [], name)
      t.same(tab.takeProblems(), [], name)
    }
  }
  await tab.page.keyboard.press('p')
  await tab.page.locator('.banner', { hasText: 'Paused' }).waitFor()
  t.same(await tab.accessibilityFaults(), [], 'with the banner')
  await tab.page.evaluate(() => document.querySelector('h1')?.append(document.createElement('img')))
  t.match(await tab.accessibilityFaults('image-alt'), [/^image-alt/], 'what is wrong is found')
}

/** Opens everything that is folded, so that it is looked at as well. */
async function unfold({ page }: ConsoleTab): Promise<void> {
  await page.evaluate(() => {
    for (const folded of document.querySelectorAll<HTMLDetailsElement>('main details')) folded.open = true
  })
}
