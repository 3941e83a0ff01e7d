import { LoopSteps, StepTable } from '../src/measure/steps.js'
import { Switches } from '../src/shared-memory/switches.js'

/** The steps of a thread that is not watched. */
export function givenSteps(): LoopSteps {
  return new LoopSteps(new StepTable(StepTable.make(1, 0n)), 0, new Switches())
}
