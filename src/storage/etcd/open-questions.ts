/** The questions that are under way over a link: each response belongs to the question whose number it carries. */
export class OpenQuestions<Response> {
  readonly #open = new Map<number, (response: Response) => void>()
  #last = 0

  /** Registers a question and returns its number; `take` gets the response. */
  ask(take: (response: Response) => void): number {
    this.#last += 1
    this.#open.set(this.#last, take)
    return this.#last
  }

  /** Throws when there is no such question, or when it was answered before. */
  answered(number: number, response: Response): void {
    const take = this.#open.get(number)
    if (take === undefined) throw new Error(`the log has answered question ${number}, which is not open`)
    this.#open.delete(number)
    take(response)
  }
}
