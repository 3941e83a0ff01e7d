import { existsSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import { t as root } from 'tap'
import { waits } from '../until.js'
import { fileMark, filesOfUnit, underWayMark } from './unit-run.js'

/** How long the process may go on after its last test. */
const endLimit_ms = 60_000

const fixtures = join('.tap', 'fixtures')

type Teardown = () => unknown

/** Resolves when every test that was added to the root has ended. */
function idle(): Promise<void> {
  return root.idle ? Promise.resolve() : new Promise((resolved) => root.once('idle', resolved))
}

/** Runs the tests of one file, then its teardowns, the last one first. A teardown that throws fails by the name of its file. */
async function runFile(path: string): Promise<void> {
  const teardowns: Teardown[] = []
  root.comment(`${fileMark}${path}`)
  const folderName = path.replace(/[^\w.-]+/g, '-')
  root.testdirName = resolve(fixtures, folderName)
  // The root ends as soon as it is idle once it has a teardown of its own, and the next file could not add tests.
  root.teardown = (teardown: Teardown) => {
    teardowns.unshift(teardown)
  }
  try {
    await import(pathToFileURL(path).href)
    await idle()
  } catch (fault) {
    root.fail(`${path} is loaded`, { found: inspect(fault) })
  }
  for (const teardown of teardowns) {
    try {
      await teardown()
    } catch (fault) {
      root.fail(`the teardown of ${path}`, { found: inspect(fault) })
    }
  }
  try {
    removeFolders(folderName)
  } catch (fault) {
    root.fail(`the folders of ${path} are removed`, { found: inspect(fault) })
  }
}

/**
 * Removes the folders of the tests of a file. tap would remove the folder of a test before the teardowns that were added behind it, and
 * what still runs then writes into a folder that goes.
 */
function removeFolders(name: string): void {
  const own = existsSync(fixtures) ? readdirSync(fixtures).filter((each) => each.startsWith(name)) : []
  for (const each of own) rmSync(join(fixtures, each), { recursive: true, force: true })
}

/** The names of the tests under way, the outer ones first. */
const underWay = new Set<string>()
root.beforeEach(({ name }) => underWay.add(name))
root.afterEach(({ name }) => underWay.delete(name))
process.once('SIGTERM', () => {
  writeSync(2, `\n${underWayMark}${[...underWay, ...waits()].join(' > ')}\n`)
  process.exit(1)
})

// A variable has the paths: names of folders are made from the arguments, and standard input may not have come yet.
const paths = process.env[filesOfUnit]?.split(delimiter) ?? []
delete process.env[filesOfUnit]
for (const path of paths) await runFile(path)
root.end()

setTimeout(() => {
  const held = process.getActiveResourcesInfo().join(', ')
  process.stderr.write(`The tests have ended, but the process goes on: ${held}\n`)
  process.exit(1)
}, endLimit_ms).unref()
