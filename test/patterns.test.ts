import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { areAll } from './runs.js'
import {
  loadedPatterns,
  patternsIn,
  programOf,
  root,
  type SourcePattern,
  sourcesIn,
  verdictOn,
} from './source-patterns.js'

/** Patterns whose time cannot be proved, and why they are linear all the same. They are searched for texts that take longer. */
const unproved: readonly { readonly file: string; readonly begins: string; readonly why: string }[] = [
  {
    file: 'src/api/ngsi1/parse/element-scan.ts',
    begins: String.raw`((?:,(?:[ \t\r\n]+)?)?)\{`,
    why: 'a whole context element, with too many states to prove: no two parts that follow each other begin with the same character',
  },
  {
    file: 'src/api/ngsi2/parse/entity-scan.ts',
    begins: String.raw`"([!$%*+,\-.0-9:@A-Z`,
    why: 'an attribute with its metadata, with too many states to prove: members that follow each other differ in their names',
  },
]

/** Where patterns are made while the program runs, and what bounds them. None is. */
const madeLater: readonly string[] = []

/** Fingerprints of the patterns that were proved before: proving all of them again takes longer than all other rules about the source. */
const provedFile = join(root, 'test', 'proved-patterns.txt')
/** The share of them that is proved again, at random. */
const provedAgain = process.env['RIGEL_PROOFS'] === 'all' ? 1 : areAll ? 0.1 : 0

const files = sourcesIn('src', 'workers')
const program = programOf(files)
const patterns = files.map((file) => patternsIn(program, file))

test('every regular expression of the program takes time in proportion to its text', async (t) => {
  t.setTimeout(600_000)
  const literals = patterns.flatMap((each) => each.literals)
  t.ok(literals.length > 150, `${literals.length} literals were read`)
  const loading = patterns.filter(({ loaded }) => loaded > 0)
  const loaded = await loadedPatterns(loading.map(({ file }) => file))
  for (const { file, loaded: sites } of loading) {
    t.equal(loaded.get(file)?.length, sites, `all of ${file} are known`)
  }
  const found = new Set<(typeof unproved)[number]>()
  const proved = new Set(readFileSync(provedFile, 'utf8').split('\n').slice(0, -1))
  const met = new Set<string>()
  for (const pattern of [...literals, ...[...loaded.values()].flat()].filter(once())) {
    const exception = unproved.find(({ file, begins }) => pattern.place === file && pattern.source.startsWith(begins))
    if (exception !== undefined) found.add(exception)
    const fingerprint = fingerprintOf(pattern)
    met.add(fingerprint)
    if (proved.has(fingerprint) && Math.random() >= provedAgain) continue
    const verdict = verdictOn(pattern, exception === undefined ? 'proof' : 'search')
    if (verdict !== 'linear')
      t.fail(`${pattern.place}: /${pattern.source.slice(0, 200)}/${pattern.flags} is ${verdict}`)
    else if (!proved.has(fingerprint))
      t.fail(`${pattern.place} is linear: add the line ${fingerprint} to ${provedFile}`)
  }
  for (const line of proved)
    if (!met.has(line)) t.fail(`no pattern has the fingerprint ${line}: remove it from ${provedFile}`)
  t.equal(found.size, unproved.length, 'no exception stands for nothing')
})

test('no regular expression is made of what the program has while it runs', async (t) => {
  t.same(
    patterns.flatMap(({ later }) => later),
    madeLater,
  )
})

test('the check finds patterns that take longer with longer texts', async (t) => {
  t.setTimeout(300_000)
  const superlinear = [
    /^([a-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/,
    /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/,
    /\$\{[^}]*\}/g,
    /\/+$/,
    /^bearer +(.*)$/i,
    /\\.|\[(?:\\.|[^\\\]])*\]|\{(\d+)(?:,(\d*))?\}/gs,
    /^(.*)\[(.*)\]$/,
    /^([a-z][a-z0-9+.-]*:)?[\\/]{2,}[^/?#]*@/i,
    /(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"]*@/gi,
    /(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"@]*$/i,
    /\s*[\r\n]+\s*/g,
    /[,\]\s]+$/,
    /^(?:a+)+$/,
  ]
  for (const pattern of areAll ? superlinear : superlinear.slice(-3))
    t.equal(verdictOn(asRead(pattern), 'proof'), 'superlinear', String(pattern))
  for (const pattern of [/^[+-]?\d+$/, /a+/g, /a+b/y]) t.equal(verdictOn(asRead(pattern), 'proof'), 'linear')
})

test('patterns are found wherever they are made', async (t) => {
  const file = join(
    t.testdir({
      'given.ts': [
        'const one = /a\\/[/]b/gi',
        "const two = new RegExp('a' + one.source)",
        'export function later(text: string, other: string) {',
        '  const found = { match: (what: string) => what }',
        "  return [RegExp(text), text.match(other), text.search('x'), text.matchAll(two), found.match(text), /c/.test(text)]",
        '}',
      ].join('\n'),
    }),
    'given.ts',
  )
  const { literals, loaded, later } = patternsIn(programOf([file]), file)
  t.match(literals, [
    { source: 'a\\/[/]b', flags: 'gi' },
    { source: 'c', flags: '' },
  ])
  t.equal(loaded, 1)
  t.same(
    later.map((place) => place.slice(place.lastIndexOf(':'))),
    [':5', ':5', ':5'],
  )
  t.ok(file.startsWith(root))
})

function asRead({ source, flags }: RegExp): SourcePattern {
  return { place: '', source, flags }
}

function fingerprintOf({ source, flags }: SourcePattern): string {
  return createHash('sha256').update(`${flags}/${source}`).digest('hex').slice(0, 16)
}

/** Whether a pattern is met for the first time. */
function once(): (pattern: SourcePattern) => boolean {
  const seen = new Set<string>()
  return ({ source, flags }) => {
    const text = `${flags}/${source}`
    if (seen.has(text)) return false
    seen.add(text)
    return true
  }
}
