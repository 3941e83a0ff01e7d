/**
 * The most steps of about 1 µs for compiling a regular expression and preparing it for searches, by its text alone, in linear
 * time and before the engine has read it. Texts that are not regular expressions have a cost, too.
 */
export function compileSteps(text: string): number {
  return new PatternScan(text).steps
}

const instruction_steps = 2

/** A class by property has some 650 ranges, which the engine gathers for each mention; without case those of other cases, too. */
const property_steps = 300
const foldedProperty_steps = 600

/** Each instruction with such a class distinguishes these ranges again. */
const propertyInstruction_steps = 36

/** The cost of a class such as `\w`: without case, each of its characters is looked at. */
const foldedClass_steps = 30

/** Without case the engine looks at each character of a range between these two, unless both are in it. */
const firstWithCase = 0x41
const lastWithCase = 0x1e943
const foldedTogether = 16

/** ASCII characters take longer. */
const ascii = 0x80
const foldedAsciiTogether = 3

/** A group of flags; without a colon it is no group and lasts to the end of the enclosing one. */
const flags = /\(\?[A-Za-z-]*([:)])/y
const groupName = /\(\?P?<[^>]*>/y
const repetition = /\{(\d+)(?:,(\d*))?\}/y
const property = /\\[pP](?:\{[^}]*\}|[^{])/y
const perlClass = /\\[dDsSwW]/y
const posixClass = /\[:\^?[a-z]*:\]/y
const hexadecimal = /\\x(?:\{([\dA-Fa-f]+)\}|([\dA-Fa-f]{2}))/y
const octal = /\\[0-7]{1,3}/y

/** An open group: the cost of its parts, and the last of them, which a repetition multiplies. */
interface OpenGroup {
  sum: number
  last: number
}

interface Character {
  readonly code: number
  readonly end: number
}

class PatternScan {
  readonly #text: string
  /** Whether some part of the expression ignores case; then all parts are taken to do so. */
  readonly #folds: boolean
  readonly #groups: OpenGroup[] = [{ sum: 0, last: 0 }]
  /** Costs that arise once, however often a part is repeated. */
  #once = 0
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#folds = foldsCase.test(text)
    while (this.#at < text.length) this.#part()
  }

  get steps(): number {
    return Math.ceil(this.#groups.reduce((sum, group) => sum + group.sum, this.#once))
  }

  get #group(): OpenGroup {
    return this.#groups.at(-1) ?? { sum: 0, last: 0 }
  }

  #part(): void {
    switch (this.#text[this.#at]) {
      case '(':
        this.#open()
        break
      case ')':
        this.#close()
        break
      case '[':
        this.#class()
        break
      case '\\':
        this.#escape()
        break
      case '*':
      case '+':
      case '?':
        this.#repeat(1, 1)
        break
      case '{':
        this.#counted()
        break
      case '|':
        // An empty alternative is an instruction, too.
        this.#add(2 * instruction_steps, 1)
        break
      default:
        this.#add(instruction_steps, 1)
    }
  }

  /** Adds a part of the expression that is this many characters long. */
  #add(steps: number, length: number): void {
    const group = this.#group
    group.sum += steps
    group.last = steps
    this.#at += length
  }

  #open(): void {
    const [given, end] = this.#read(flags) ?? []
    if (end === ')') {
      // The repetition behind `a(?i)` repeats the `a`.
      this.#at += given?.length ?? 0
      return
    }
    this.#at += given?.length ?? this.#read(groupName)?.[0].length ?? 1
    this.#groups.push({ sum: 3 * instruction_steps, last: 0 })
  }

  #close(): void {
    const closed = this.#groups.length > 1 ? this.#groups.pop() : undefined
    this.#add(closed?.sum ?? instruction_steps, 1)
  }

  #counted(): void {
    const [found, least = '', most] = this.#read(repetition) ?? []
    if (found === undefined) this.#add(instruction_steps, 1)
    else this.#repeat(Math.max(1, Number(least), Number(most ?? 0)), found.length, most !== undefined)
  }

  /** Repeats the last part this many times, each of which may be optional. */
  #repeat(times: number, length: number, isOptional = true): void {
    const group = this.#group
    const repeated = times * (group.last + (isOptional ? instruction_steps : 0))
    group.sum += repeated - group.last
    group.last = repeated
    this.#at += length
  }

  #escape(): void {
    if (this.#text.startsWith('\\Q', this.#at)) {
      this.#quoted()
      return
    }
    const classLength = this.#namedClass()
    if (classLength !== undefined) {
      const ofProperty = /^\\[pP]/.test(this.#text.slice(this.#at, this.#at + 2))
      this.#add(instruction_steps + (ofProperty ? propertyInstruction_steps : 1), classLength)
      return
    }
    this.#add(instruction_steps, this.#character(this.#at).end - this.#at)
  }

  #quoted(): void {
    const end = this.#text.indexOf('\\E', this.#at)
    const length = (end === -1 ? this.#text.length : end) - this.#at - 2
    const behind = length + (end === -1 ? 2 : 4)
    // A repetition behind an empty quotation repeats the part before the quotation.
    if (length === 0) {
      this.#at += behind
      return
    }
    this.#add(instruction_steps * length, behind)
    this.#group.last = instruction_steps
  }

  /** The length of the named class that begins here, undefined if there is none; adds the cost of reading it. */
  #namedClass(): number | undefined {
    const ofProperty = this.#read(property)?.[0]
    if (ofProperty !== undefined) {
      this.#once += this.#folds ? foldedProperty_steps : property_steps
      return ofProperty.length
    }
    const named = this.#read(perlClass)?.[0]
    if (named !== undefined) this.#once += this.#folds ? foldedClass_steps : 1
    return named?.length
  }

  /** The engine reads a class once and keeps its ranges in every instruction that it becomes. */
  #class(): void {
    const { length } = this.#text
    const from = this.#at
    let properties = 0
    this.#at += this.#text[from + 1] === '^' ? 2 : 1
    for (let isFirst = true; this.#at < length && (isFirst || this.#text[this.#at] !== ']'); isFirst = false) {
      if (this.#text.startsWith('\\p', this.#at) || this.#text.startsWith('\\P', this.#at)) properties += 1
      this.#classItem()
    }
    const end = Math.min(length, this.#at + 1)
    this.#once += (end - from) / 2
    this.#at = from
    this.#add(instruction_steps + properties * propertyInstruction_steps + (end - from) / 128, end - from)
  }

  #classItem(): void {
    const posix = this.#read(posixClass)?.[0].length
    if (posix !== undefined) this.#once += this.#folds ? foldedClass_steps : 2
    const named = posix ?? this.#namedClass()
    if (named !== undefined) {
      this.#at += named
      return
    }
    const low = this.#character(this.#at)
    this.#at = low.end
    const isRange = this.#text[low.end] === '-' && low.end + 1 < this.#text.length && this.#text[low.end + 1] !== ']'
    const high = isRange ? this.#character(low.end + 1) : low
    this.#at = high.end
    if (this.#folds) this.#once += foldSteps(low.code, high.code)
  }

  /** The character that is written here, as itself or escaped. */
  #character(at: number): Character {
    if (this.#text[at] !== '\\') {
      const code = this.#text.codePointAt(at) ?? 0
      return { code, end: at + (code > 0xffff ? 2 : 1) }
    }
    this.#at = at
    const [hex, braced, bare] = this.#read(hexadecimal) ?? []
    if (hex !== undefined) return { code: Number.parseInt(braced ?? bare ?? '0', 16), end: at + hex.length }
    const eights = this.#read(octal)?.[0]
    if (eights !== undefined) return { code: Number.parseInt(eights.slice(1), 8), end: at + eights.length }
    return { code: this.#text.charCodeAt(at + 1) || 0, end: Math.min(this.#text.length, at + 2) }
  }

  #read(what: RegExp): RegExpExecArray | undefined {
    what.lastIndex = this.#at
    return what.exec(this.#text) ?? undefined
  }
}

const foldsCase = /\(\?[A-Za-z]*i/

function foldSteps(low: number, high: number): number {
  if (low <= firstWithCase && high >= lastWithCase) return 0
  const from = Math.max(low, firstWithCase)
  const width = Math.max(0, Math.min(high, lastWithCase) + 1 - from)
  const ofAscii = Math.max(0, Math.min(high + 1, ascii) - from)
  return width / foldedTogether + ofAscii / foldedAsciiTogether
}
