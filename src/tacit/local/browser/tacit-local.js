/**
 * The client of tacit's local model for browsers: Warner, GRR, OUE and OLH. No dependency, one file.
 *
 *     import { open } from "./tacit-local.js";
 *     const survey = await open(await (await fetch("/survey.json")).text());   // what protocol.parameters() wrote
 *     await fetch("/reports", { method: "POST", body: survey.report("tea") }); // bytes; survey.line(…) is a JSON line
 *
 * The person's value never leaves this file: what is sent is one random record. Every call of `report` or `line` draws
 * a new one and costs the person another ε, so call it once per person and store the record for a second try.
 *
 * Statement. A record is ε-DP in the value, for the ε of the parameters, if `crypto.getRandomValues` is uniform.
 * Proof. A coin of A compares 64 uniform bits with A, digit by digit, so it shows heads with probability exactly
 * A/2^64; `below` and `residues` are uniform by rejection. So every record has the probability that
 * docs/reference/local-reports.md states, and the greatest ratio of two values is the rational of `odds`. `open`
 * refuses parameters for which that rational, or its inverse, is not at most a lower bound of e^ε, computed in whole
 * numbers. A server cannot let people draw with a larger ε than the parameters state.  ∎
 *
 * On real bits: no coin is a floating-point number. Both the other value and the coin are drawn whether or not they are
 * needed. The layouts and the order of the draws are those of the Python client: the same bits give the same record.
 */

const PRIME = 2147483647;
const TWO_32 = 4294967296;
const TWO_64 = 1n << 64n;
const LARGEST_DOMAIN = 1 << 24;
const LARGEST_EPSILON = 50n;
const GUARD = 512n;
const CODES = { Warner: 1, GRR: 2, OUE: 4, OLH: 6 };
const FIELDS = ["digest", "domain", "epsilon", "format", "keep", "protocol", "version"];
const MORE = { Warner: [], GRR: [], OUE: ["raise"], OLH: ["buckets", "prime"] };
const MOST_BYTES = 65536; // that getRandomValues gives at once

/** Read and check public parameters, the very text that `protocol.parameters()` returned; resolve to a Survey. */
export async function open(text) {
  const parts = read(text);
  const law = lawOf(parts);
  const [num, den] = odds(law);
  const epsilon = fraction(parts.epsilon);
  const within = num > 0n && den > 0n && atMostExp(num, den, epsilon) && atMostExp(den, num, epsilon);
  need(within, "parameters whose probabilities keep to their epsilon");
  need(parts.p === undefined || isFloor(law.keep, parts.p), "a p that is the one drawn with");
  need((await digestOf(text, parts.digest)) === parts.digest, "the text of parameters(), unchanged");
  return new Survey(parts, law);
}

/** A survey that a person can answer. */
class Survey {
  #places;

  constructor(parts, law) {
    this.protocol = parts.protocol;
    this.epsilon = parts.epsilon;
    this.domain = Array.isArray(parts.domain) ? Object.freeze([...parts.domain]) : { size: law.size };
    this.digest = parts.digest;
    this.law = law;
    this.#places = Array.isArray(parts.domain) ? new Map(parts.domain.map((value, place) => [value, place])) : null;
    Object.freeze(this);
  }

  /** Draw a report of a value, as bytes to send: an envelope of 32 bytes and the record. */
  report(value) {
    return envelope(this, this.#record(value));
  }

  /** Draw a report of a value as one JSON line, with its line end. */
  line(value) {
    return jsonLine(this, this.#record(value));
  }

  #record(value) {
    const place = this.#places === null ? value : this.#places.get(value);
    need(Number.isInteger(place) && place >= 0 && place < this.law.size, "a value of the domain");
    return record(this.law, place, systemBytes);
  }
}

/** Draw one record; exported with a source of bytes for the shared test vectors. Surveys draw from the system alone. */
export function record(law, place, take) {
  if (law.protocol === "OUE") return unary(law, place, take);
  if (law.protocol === "OLH") return hashed(law, place, take);
  return integer(respond(place, law.size, law.keep, take), law.width);
}

/** Put a record into the envelope that the server reads. */
export function envelope(survey, bytes) {
  const message = new Uint8Array(32 + bytes.length);
  const view = new DataView(message.buffer);
  message.set([0x54, 0x4c, 1, survey.law.code]); // "TL", version, protocol
  view.setUint32(4, bytes.length, true);
  view.setUint32(8, 1, true); // one record; the upper half of the count stays 0
  for (let i = 0; i < 16; i++) message[16 + i] = parseInt(survey.digest.slice(2 * i, 2 * i + 2), 16);
  message.set(bytes, 32);
  return message;
}

/** Write a record as a JSON line. */
export function jsonLine(survey, bytes) {
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  const parts = { digest: survey.digest, protocol: survey.protocol, report: btoa(characters), version: 1 };
  return JSON.stringify(parts) + "\n";
}

// ---- draws ---------------------------------------------------------------------------------------------------------

function systemBytes(count) {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += MOST_BYTES) crypto.getRandomValues(bytes.subarray(at, at + MOST_BYTES));
  return bytes;
}

function word(take) {
  const bytes = take(4);
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
}

/** Show whether 64 uniform bits, as an integer, are below A = high·2^32 + low. */
function coin([high, low], view, at) {
  const first = view.getUint32(at + 4, true);
  const second = view.getUint32(at, true);
  return (first < high) | ((first === high) & (second < low));
}

function coins(chance, count, take) {
  const bytes = take(8 * count);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: count }, (_, i) => coin(chance, view, 8 * i));
}

/** Draw uniformly from 0, …, n-1: of 2^32 words Lemire's rule keeps ⌊2^32/n⌋ for each. */
function below(n, take) {
  const reject = BigInt(TWO_32 % n);
  for (;;) {
    const product = BigInt(word(take)) * BigInt(n);
    if ((product & 0xffffffffn) >= reject) return Number(product >> 32n);
  }
}

function respond(place, size, keep, take) {
  const drawn = below(size - 1, take);
  const other = drawn + (drawn >= place);
  return coins(keep, 1, take)[0] ? place : other;
}

function unary(law, place, take) {
  const row = new Uint8Array(law.width);
  for (let at = 0; at < row.length; at += 1024) {
    const some = row.subarray(at, at + 1024);
    coins(law.raise, 8 * some.length, take).forEach((bit, i) => (some[i >> 3] |= bit << (i & 7)));
  }
  row[row.length - 1] &= 0xff >> (8 * law.width - law.size);
  const own = coins(law.keep, 1, take)[0];
  row[place >> 3] = (row[place >> 3] & ~(1 << (place & 7))) | (own << (place & 7));
  return row;
}

function hashed(law, place, take) {
  const [a, b] = residues(take);
  const bucket = hash(a, b, place, law.buckets);
  const bytes = new Uint8Array(law.width);
  bytes.set(integer(a, 4));
  bytes.set(integer(b, 4), 4);
  bytes.set(integer(respond(bucket, law.buckets, law.keep, take), law.width - 8), 8);
  return bytes;
}

/** Draw two integers uniformly below the prime: 31 bits each, again where they are the prime. */
function residues(take) {
  const pair = [PRIME, PRIME];
  while (pair.includes(PRIME)) {
    for (let i = 0; i < 2; i++) if (pair[i] === PRIME) pair[i] = word(take) >>> 1;
  }
  return pair;
}

/** Return ⌊((a·x + b) mod P)·g/P⌋; with x = 65536·i + j no number exceeds 2^49, so doubles are exact. */
function hash(a, b, x, g) {
  const i = Math.floor(x / 65536);
  const u = (((a * i) % PRIME) * 65536 + a * (x % 65536) + b) % PRIME;
  return Math.floor((u * g) / PRIME); // u·g < 2^47, and u·g/P is an integer or 2^-31 away from the next
}

function integer(value, width) {
  return Uint8Array.from({ length: width }, (_, i) => Math.floor(value / 256 ** i) % 256);
}

// ---- parameters ----------------------------------------------------------------------------------------------------

function need(holds, what) {
  if (!holds) throw new RangeError(`tacit-local needs ${what}; nothing was drawn.`);
}

function read(text) {
  let parts = null;
  try {
    parts = typeof text === "string" ? JSON.parse(text) : null;
  } catch {
    // reported below, without the text
  }
  need(parts !== null && typeof parts === "object" && parts.format === "tacit.local", "the text of parameters()");
  need(parts.version === 1, "parameters of version 1");
  need(Object.hasOwn(CODES, parts.protocol), `one of the protocols ${Object.keys(CODES).join(", ")}`);
  need(/^[0-9a-f]{32}$/.test(parts.digest), "a digest of 32 hexadecimal digits");
  const fields = [...FIELDS, ...MORE[parts.protocol]];
  const known = Object.keys(parts).every((key) => fields.includes(key) || (key === "p" && parts.protocol === "Warner"));
  need(known && fields.every((key) => Object.hasOwn(parts, key)), "the fields of parameters() and no others");
  return parts;
}

function lawOf(parts) {
  const size = sizeOf(parts.domain);
  const { protocol } = parts;
  const keep = words(parts.keep);
  const law = { protocol, code: CODES[protocol], size, keep };
  const yesNo = Array.isArray(parts.domain) && size === 2 && parts.domain[0] === false && parts.domain[1] === true;
  need(protocol !== "Warner" || yesNo, "the answers false and true for Warner");
  if (protocol === "OUE") return Object.freeze({ ...law, raise: words(parts.raise), width: Math.ceil(size / 8) });
  if (protocol !== "OLH") return Object.freeze({ ...law, width: widthOf(size) });
  const { buckets, prime } = parts;
  need(Number.isInteger(buckets) && buckets >= 2 && buckets <= 65536 && prime === PRIME, "2 to 65536 buckets");
  return Object.freeze({ ...law, buckets, width: 8 + widthOf(buckets) });
}

function sizeOf(domain) {
  const listed = Array.isArray(domain);
  const counted = !listed && domain !== null && typeof domain === "object" && Object.keys(domain).join() === "size";
  const size = listed ? domain.length : counted ? domain.size : 0;
  need(Number.isInteger(size) && size >= 2 && size <= LARGEST_DOMAIN, "a domain of 2 to 2^24 values");
  need(!listed || domain.every(isValue), "a domain of text, finite numbers, true and false");
  const unlike = (value) => (typeof value === "boolean" ? Number(value) : value); // in Python 1, 1.0 and True are one
  need(!listed || new Set(domain.map(unlike)).size === size, "a domain of different values");
  return size;
}

function isValue(value) {
  return ["string", "boolean"].includes(typeof value) || (typeof value === "number" && Number.isFinite(value));
}

/** Tell whether A is ⌊p·2^64⌋, for a p between 0 and 1. */
function isFloor(keep, p) {
  const [num, den] = ratio(p, "p as a fraction");
  return num < den && (num * TWO_64) / den === sides(keep)[0];
}

function widthOf(outputs) {
  return outputs <= 1 << 8 ? 1 : outputs <= 1 << 16 ? 2 : 4;
}

/** Read A, text, as its two halves of 32 bits; 0 < A < 2^64. */
function words(text) {
  need(typeof text === "string" && /^[1-9][0-9]{0,19}$/.test(text) && BigInt(text) < TWO_64, "chances of 64 bits");
  return Object.freeze([Number(BigInt(text) >> 32n), Number(BigInt(text) & 0xffffffffn)]);
}

/** Return the greatest ratio of a record's probabilities under two values, or its inverse, as a fraction. */
function odds({ protocol, keep, raise, size, buckets }) {
  const [kept, left] = sides(keep);
  if (protocol === "OUE") {
    const [raised, stayed] = sides(raise);
    return [kept * stayed, raised * left];
  }
  const outputs = BigInt(protocol === "OLH" ? buckets : size);
  return [kept * (outputs - 1n), left];
}

function sides([high, low]) {
  const chance = (BigInt(high) << 32n) | BigInt(low);
  return [chance, TWO_64 - chance];
}

function fraction(text) {
  const [num, den] = ratio(text, "epsilon as a fraction");
  need(num <= LARGEST_EPSILON * den, "an epsilon above 0 and at most 50");
  return [num, den];
}

function ratio(text, what) {
  const found = typeof text === "string" && text.length <= 400 && /^([0-9]+)(?:\/([0-9]+))?$/.exec(text);
  need(found, what);
  const [num, den] = [BigInt(found[1]), BigInt(found[2] ?? 1)];
  need(num > 0n && den > 0n, `${what}, above 0`);
  return [num, den];
}

/** Tell whether num/den ≤ e^x. Every term of the series is rounded down, so the sum is never above e^x·2^GUARD. */
function atMostExp(num, den, [p, q]) {
  let sum = 0n;
  for (let term = 1n << GUARD, k = 1n; term > 0n; k++) {
    sum += term;
    term = (term * p) / (q * k);
  }
  return num << GUARD <= sum * den;
}

/** Return the first 16 bytes of SHA-256 over the parameters without their digest. */
async function digestOf(text, digest) {
  need(globalThis.crypto?.subtle, "a secure context (https), where there is crypto.subtle");
  const bare = new TextEncoder().encode(text.replace(`"digest":"${digest}",`, ""));
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", bare)).subarray(0, 16);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
