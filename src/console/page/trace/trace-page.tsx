import { PageHead } from '../parts/page-head.js'
import { TraceControls } from './trace-controls.js'
import { TraceLines } from './trace-lines.js'

/** What is traced, for how long, how much is logged, and the lines as they come. */
export function TracePage() {
  return (
    <>
      <PageHead title="Trace" curl={['/log/trace', '/log/verbose', '/admin/log', '/admin/log/tail']} />
      <TraceControls />
      <TraceLines />
    </>
  )
}
