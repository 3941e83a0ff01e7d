import { PageHead } from '../parts/page-head.js'
import { useResource } from '../resource.js'
import { TraceControls } from './trace-controls.js'
import { linesPath, TraceLines } from './trace-lines.js'
import { readAreas } from './trace-reading.js'

/** What is traced, for how long, how much is logged, and the lines as they come. */
export function TracePage() {
  const areas = useResource('/admin/config', readAreas, 60_000)
  return (
    <>
      <PageHead title="Trace" curl={['/log/trace', '/log/verbose', '/admin/log', linesPath]} />
      <TraceControls areas={areas} />
      <TraceLines areas={[...(areas.value?.keys() ?? [])]} />
    </>
  )
}
