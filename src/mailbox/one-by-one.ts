/**
 * Carries out what a thread is told, each when the one before it is done. What nothing stands before is begun before the function
 * that is given returns; `carryOut` gives a promise of what goes on in slices. A fault in it ends the thread, as any other of its
 * program does.
 *
 *     state     | told              | done
 *     ----------|-------------------|------------------------------
 *     idle      | begin it          | -
 *     under way | it waits, in turn | begin the next, or be idle
 */
export function oneByOne<Instruction>(
  carryOut: (instruction: Instruction) => void | Promise<void>,
): (instruction: Instruction) => void {
  const waiting: Instruction[] = []
  let isUnderWay = false
  const goOn = (): void => {
    isUnderWay = false
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const going = carryOut(next)
      if (!(going instanceof Promise)) continue
      isUnderWay = true
      void going.then(goOn)
      return
    }
  }
  return (instruction) => {
    waiting.push(instruction)
    if (!isUnderWay) goOn()
  }
}
