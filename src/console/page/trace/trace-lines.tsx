import { useEffect, useRef, useState } from 'preact/hooks'
import { countText } from '../format.js'
import { CopyButton } from '../parts/copy-button.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { Chip } from '../parts/small-parts.js'
import { readStream } from '../stream-reader.js'
import { type LogLine, readLine } from './trace-reading.js'

/** As many lines are kept; older ones go. */
const mostLines = 500

/** What is wanted of the log, as the broker filters it. */
interface LineFilter {
  readonly text: string
  readonly correlator: string
  readonly tenant: string
}

const everything: LineFilter = { text: '', correlator: '', tenant: '' }

/** The lines of the log as they come, the latest first. */
export function TraceLines() {
  const [filter, setFilter] = useState(everything)
  const [isPaused, setPaused] = useState(false)
  const { lines, skipped, clear } = useLines(filter, isPaused)
  const text = () => lines.map((line) => `${line.text}\n`).join('')
  const set = (name: keyof LineFilter) => (event: { readonly currentTarget: HTMLInputElement }) =>
    setFilter({ ...filter, [name]: event.currentTarget.value })
  return (
    <section aria-labelledby="lines">
      <h2 id="lines">Lines</h2>
      <div class="filters">
        <label>
          Text <input type="search" value={filter.text} onChange={set('text')} />
        </label>
        <label>
          Correlator <input type="search" value={filter.correlator} onChange={set('correlator')} />
        </label>
        <label>
          Tenant <input type="search" value={filter.tenant} onChange={set('tenant')} />
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
        <CopyButton text={text}>Copy</CopyButton>
        <button type="button" disabled={lines.length === 0} onClick={() => save(text())}>
          Save
        </button>
      </div>
      <p class="quiet">
        The last {mostLines} at most, 200 in a second{skipped > 0 && `; ${countText(skipped)} more were left out`}. A
        click on a line shows its whole request.
      </p>
      <DataTable
        caption="Lines of the log, the latest first; Enter shows all lines of the request"
        columns={columns}
        rows={lines}
        keyOf={({ number }) => String(number)}
        open={({ correlator }) => correlator !== 'N/A' && setFilter({ ...everything, correlator })}
        empty="No line has come yet: trace an area above, or raise the log level."
      />
    </section>
  )
}

const columns: readonly Column<LogLine>[] = [
  { name: 'time', cell: ({ time }) => <time dateTime={time}>{time.slice(11, 23)}</time> },
  {
    name: 'what',
    cell: ({ level, area, op }) => (area === '' ? <LevelChip level={level} op={op} /> : <code>{area}</code>),
  },
  {
    name: 'message',
    cell: ({ message }) => (
      <span class="stored" title={message}>
        {message.slice(0, longestShown)}
      </span>
    ),
  },
  {
    name: 'tenant',
    cell: ({ tenant }) => <span class="stored">{tenant === '<none>' ? '' : tenant}</span>,
    isMinor: true,
  },
  {
    name: 'correlator',
    cell: ({ correlator }) => <span class="stored">{correlator === 'N/A' ? '' : correlator.slice(0, 8)}</span>,
    isMinor: true,
  },
]

/** In characters; the title has the whole. */
const longestShown = 300

function LevelChip({ level, op }: { readonly level: string; readonly op: string }) {
  const tone = level === 'ERROR' || level === 'FATAL' ? 'bad' : level === 'WARN' ? 'warning' : 'plain'
  return (
    <>
      <Chip tone={tone}>{level}</Chip> <span class="quiet">{op}</span>
    </>
  )
}

/** Reads the lines that a filter wants; another filter begins anew. */
function useLines(filter: LineFilter, isPaused: boolean) {
  const [shown, setShown] = useState<{ readonly lines: readonly LogLine[]; readonly skipped: number }>(none)
  const numbers = useRef(0)
  const { text, correlator, tenant } = filter
  useEffect(() => setShown(none), [text, correlator, tenant])
  useEffect(() => {
    if (isPaused) return
    const given = Object.entries({ text, correlator, tenant }).filter(([, value]) => value !== '')
    const query = new URLSearchParams(given).toString()
    let gathered: LogLine[] = []
    let skipped = 0
    // Many lines come at a time: they are drawn together.
    const timer = setInterval(() => {
      if (gathered.length === 0 && skipped === 0) return
      const [fresh, left] = [gathered.toReversed(), skipped]
      gathered = []
      skipped = 0
      setShown((before) => ({ lines: [...fresh, ...before.lines].slice(0, mostLines), skipped: before.skipped + left }))
    }, 250)
    const stop = readStream(`/admin/log/tail${query === '' ? '' : `?${query}`}`, {
      opened: () => {},
      lost: () => {},
      event: (name, data) => {
        if (name === 'skipped') skipped += skippedOf(data)
        if (name !== 'line') return
        numbers.current += 1
        gathered.push(readLine(data, numbers.current))
      },
    })
    return () => {
      clearInterval(timer)
      stop()
    }
  }, [text, correlator, tenant, isPaused])
  return { ...shown, clear: () => setShown(none) }
}

const none = { lines: [], skipped: 0 }

function skippedOf(data: string): number {
  const raw: unknown = JSON.parse(data)
  return typeof raw === 'object' && raw !== null && 'lines' in raw ? Number(raw.lines) : 0
}

function save(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }))
  link.download = `rigel-log-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`
  link.click()
  URL.revokeObjectURL(link.href)
}
