/** The types of tacit-local.js: the client of tacit's local model for browsers. */

export type ProtocolName =
  | "Warner"
  | "GRR"
  | "SUE"
  | "OUE"
  | "BLH"
  | "OLH"
  | "Hadamard"
  | "SubsetSelection"
  | "ProjectiveGeometry";

/** A value of a domain. */
export type Value = string | number | boolean;

/** What records are drawn with; made by `open`. */
export interface Law {
  readonly protocol: ProtocolName;
  /** The code of the protocol in an envelope. */
  readonly code: number;
  /** The number of values. */
  readonly size: number;
  /** The bytes of a record. */
  readonly width: number;
}

/** A survey that a person can answer. */
export interface Survey {
  readonly protocol: ProtocolName;
  /** The ε of each report, as a fraction. */
  readonly epsilon: string;
  /** The values, or their number if they are 0, …, size-1. */
  readonly domain: readonly Value[] | { readonly size: number };
  /** The identifier of the parameters: 32 hexadecimal digits. */
  readonly digest: string;
  readonly law: Law;
  /** Draw a report of a value, as bytes to send. Each call costs the person another ε. */
  report(value: Value): Uint8Array;
  /** Draw a report of a value as one JSON line, with its line end. Each call costs the person another ε. */
  line(value: Value): string;
}

/** Read and check public parameters, the very text that `protocol.parameters()` returned. Rejects with a RangeError. */
export function open(text: string): Promise<Survey>;

/** Draw one record from a source of random bytes, for shared test vectors. Surveys draw from the system alone. */
export function record(law: Law, place: number, take: (count: number) => Uint8Array): Uint8Array;

/** Put a record into the envelope that the server reads. */
export function envelope(survey: Pick<Survey, "law" | "digest">, bytes: Uint8Array): Uint8Array;

/** Write a record as a JSON line. */
export function jsonLine(survey: Pick<Survey, "protocol" | "digest">, bytes: Uint8Array): string;
