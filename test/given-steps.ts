import { LoopSteps, StepTable } from '../src/observe/measure/steps.js'
import { Switches } from '../src/threads/shared-memory/switches.js'

/** The steps of a thread that is not watched. */
export function givenSteps(): LoopSteps {
  return new LoopSteps(new StepTable(StepTable.make(1, 0n)), 0, new Switches())
}
