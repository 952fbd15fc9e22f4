/**
 * The client of tacit's local model for browsers: every protocol. No dependency, one file; types are in the file
 * tacit-local.d.ts.
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
 * On real bits: no coin is a floating-point number. Draws are made whether or not they are needed. Other numbers are
 * whole and below 2^53, so doubles hold them exactly. The layouts and the order of the draws are those of the Python
 * client: the same bits give the same record. Random bytes are drawn 64 KiB ahead, used once, and erased.
 */

const PRIME = 2147483647;
const TWO_32 = 4294967296;
const TWO_64 = 1n << 64n;
const LARGEST_DOMAIN = 1 << 24;
const LARGEST_EPSILON = 50n;
const GUARD = 512n;
const LARGEST_GRID = 1 << 26;
const LARGEST_FIELD = 8209;
const FIELDS = ["digest", "domain", "epsilon", "format", "keep", "protocol", "version"];
// For each protocol: its code, its other fields, and those that it has only if the survey chose its own p' or q'.
const PROTOCOLS = {
  Warner: { code: 1, fields: [], own: ["p"], law: direct, draw: answer },
  GRR: { code: 2, fields: [], own: ["p"], law: direct, draw: choose },
  SUE: { code: 3, fields: ["raise"], own: ["p"], law: bitwise, draw: unary },
  OUE: { code: 4, fields: ["raise"], own: ["p", "q"], law: bitwise, draw: unary },
  BLH: { code: 5, fields: ["buckets", "prime"], own: ["p"], law: bucketed, draw: hashed },
  OLH: { code: 6, fields: ["buckets", "prime"], own: ["p"], law: bucketed, draw: hashed },
  Hadamard: { code: 7, fields: ["blocks", "order"], own: [], law: blockwise, draw: hadamard },
  SubsetSelection: { code: 8, fields: ["size"], own: [], law: ofSubsets, draw: subset },
  ProjectiveGeometry: { code: 9, fields: ["dimension", "field"], own: [], law: ofPoints, draw: projective },
};
const MOST_BYTES = 65536; // that getRandomValues gives at once

/** Read and check public parameters, the very text that `protocol.parameters()` returned; resolve to a Survey. */
export async function open(text) {
  const parts = read(text);
  const law = lawOf(parts);
  const [num, den] = odds(law);
  const epsilon = fraction(parts.epsilon);
  const within = num > 0n && den > 0n && atMostExp(num, den, epsilon) && atMostExp(den, num, epsilon);
  need(within, "parameters whose probabilities keep to their epsilon");
  need(parts.p === undefined || isRounded(law.keep, parts.p, 0n), "a p that is the one drawn with");
  need(parts.q === undefined || isRounded(law.raise, parts.q, 1n), "a q that is the one drawn with");
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
  return PROTOCOLS[law.protocol].draw(law, place, take);
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

const pool = new Uint8Array(MOST_BYTES);
let used = MOST_BYTES;

function systemBytes(count) {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; ) {
    if (used === MOST_BYTES) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    const some = Math.min(count - at, MOST_BYTES - used);
    bytes.set(pool.subarray(used, used + some), at);
    pool.fill(0, used, used + some);
    used += some;
    at += some;
  }
  return bytes;
}

function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function word(take) {
  return viewOf(take(4)).getUint32(0, true);
}

/** Show whether 64 uniform bits, as an integer, are below A = high·2^32 + low. */
function coinAt(high, low, view, at) {
  const first = view.getUint32(at + 4, true);
  const second = view.getUint32(at, true);
  return (first < high) | ((first === high) & (second < low));
}

function coin([high, low], take) {
  return coinAt(high, low, viewOf(take(8)), 0);
}

/** Return ⌊w·n/2^32⌋ for n < 2^31, or -1 if Lemire's rule rejects the word: it keeps ⌊2^32/n⌋ words for each value. */
function scaled(w, n) {
  const rest = Math.imul(w, n) >>> 0;
  if (rest < n && rest < TWO_32 % n) return -1;
  const low = (w & 0xffff) * n; // below 2^47
  return Math.floor(((w >>> 16) * n + Math.floor(low / 65536)) / 65536);
}

/** Draw uniformly from 0, …, n-1. */
function below(n, take) {
  for (;;) {
    const value = scaled(word(take), n);
    if (value >= 0) return value;
  }
}

/** Warner: lie with a coin of 2^64 - keep. */
function answer(law, place, take) {
  return Uint8Array.of(place ^ coin(law.lie, take));
}

function choose(law, place, take) {
  return integer(respond(place, law.size, law.keep, take), law.width);
}

function respond(place, size, keep, take) {
  const drawn = below(size - 1, take);
  const other = drawn + (drawn >= place);
  return coin(keep, take) ? place : other;
}

function unary(law, place, take) {
  const row = new Uint8Array(law.width);
  const [high, low] = law.raise;
  for (let at = 0; at < row.length; at += 1024) {
    const some = row.subarray(at, at + 1024);
    const view = viewOf(take(64 * some.length));
    for (let i = 0; i < 8 * some.length; i++) some[i >> 3] |= coinAt(high, low, view, 8 * i) << (i & 7);
  }
  row[row.length - 1] &= 0xff >> (8 * law.width - law.size);
  const own = coin(law.keep, take);
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

/** Hadamard: an output of the value's row in its block, or any other output. */
function hadamard({ blocks, order, outputs, keep, width }, place, take) {
  const half = order / 2;
  const start = (place % blocks) * order;
  const row = 1 + Math.floor(place / blocks);
  const kept = coin(keep, take);
  const plus = below(half, take);
  const rest = below(outputs - half, take);
  const own = start + withParity(kept ? plus : rest % half, row, 1 - kept);
  const far = rest - half; // a number among the outputs of all other blocks, if it is not negative
  return integer(kept || rest < half ? own : far + (far >= start ? order : 0), width);
}

/** Map numbers below b/2 one to one to the places j where row & j has an even (or odd) number of ones. */
function withParity(number, row, odd) {
  const lowest = row & -row;
  const low = number & (lowest - 1);
  const open = 2 * (number - low) + low;
  return open + (parity(open & row) === odd ? 0 : lowest);
}

function parity(bits) {
  let folded = bits ^ (bits >>> 16);
  for (let shift = 8; shift > 0; shift >>= 1) folded ^= folded >>> shift;
  return folded & 1;
}

/** Subset selection: k values by Floyd's algorithm, one's own among them if the coin shows heads. */
function subset({ size, members, keep, width }, place, take) {
  const own = coin(keep, take);
  const draws = membersBelow(size - 1, members, take);
  const row = new Uint8Array(width);
  for (let i = 0; i < members; i++) {
    const last = size - 1 - members + i;
    let value = draws[i] + (draws[i] >= place);
    if ((row[value >> 3] >> (value & 7)) & 1) value = last + (last >= place);
    row[value >> 3] |= (i >= own) << (value & 7); // with one's own value there is one other less: the first is left out
  }
  row[place >> 3] |= own << (place & 7);
  return row;
}

/** Draw k integers, number i uniformly from 0, …, m-k+i: all words first, then those of rejected ones again. */
function membersBelow(m, k, take) {
  const draws = new Int32Array(k).fill(-1);
  for (let left = k; left > 0; ) {
    const view = viewOf(take(4 * left));
    for (let i = 0, at = 0; i < k; i++) {
      if (draws[i] >= 0) continue;
      draws[i] = scaled(view.getUint32(at, true), m - k + i + 1);
      at += 4;
      left -= draws[i] >= 0;
    }
  }
  return draws;
}

/** Projective geometry: a point of the value's hyperplane, or a point outside it. */
function projective({ field, dimension, keep, width }, place, take) {
  const vectors = field ** (dimension - 1);
  const kept = coin(keep, take);
  const inside = 1 + below(vectors - 1, take);
  const outside = below(vectors, take);
  const [own, pivot] = vectorOf(place, field, dimension);
  const digits = new Array(dimension).fill(0);
  let free = kept ? inside : outside;
  let product = 0;
  for (let i = 0; i < dimension; i++) {
    if (i === pivot) continue;
    digits[i] = free % field;
    free = Math.floor(free / field);
    product += own[i] * digits[i];
  }
  digits[pivot] = (((1 - kept - product) % field) + field) % field;
  return integer(numberOf(digits, field), width);
}

/** Return the number of points of the projective space of F_q^t. */
function points(q, t) {
  return (q ** t - 1) / (q - 1);
}

/** Return the digits of a point by its number, the lowest first, and the place of its first 1. */
function vectorOf(number, q, t) {
  let pivot = 0;
  while (pivot + 1 < t && points(q, pivot + 1) <= number) pivot++;
  let code = number - points(q, pivot) + q ** pivot;
  const digits = [];
  for (let i = 0; i < t; i++) {
    digits.push(code % q);
    code = Math.floor(code / q);
  }
  return [digits, pivot];
}

/** Return the number of the point through a nonzero vector. */
function numberOf(digits, q) {
  const lead = digits.findLastIndex((digit) => digit !== 0);
  const scale = inverse(digits[lead], q);
  const code = digits.reduceRight((sum, digit) => sum * q + ((digit * scale) % q), 0);
  return code + points(q, lead) - q ** lead;
}

/** Return 1/x modulo a prime, by Euclid's algorithm. */
function inverse(x, prime) {
  let [a, b, u, v] = [x, prime, 1, 0];
  while (a > 1) {
    const times = Math.floor(b / a);
    [a, b, u, v] = [b - times * a, a, v - times * u, u];
  }
  return ((u % prime) + prime) % prime;
}

function integer(value, width) {
  const bytes = new Uint8Array(width);
  for (let i = 0, rest = value; i < width; i++, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
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
  need(Object.hasOwn(PROTOCOLS, parts.protocol), `one of the protocols ${Object.keys(PROTOCOLS).join(", ")}`);
  need(/^[0-9a-f]{32}$/.test(parts.digest), "a digest of 32 hexadecimal digits");
  const { fields: more, own } = PROTOCOLS[parts.protocol];
  const fields = [...FIELDS, ...more];
  const known = Object.keys(parts).every((key) => fields.includes(key) || own.includes(key));
  need(known && fields.every((key) => Object.hasOwn(parts, key)), "the fields of parameters() and no others");
  return parts;
}

/** Return what a record is drawn with, and `set` and `outputs`: keep is spread over a set of so many of the outputs. */
function lawOf(parts) {
  const { protocol } = parts;
  const law = { protocol, code: PROTOCOLS[protocol].code, size: sizeOf(parts.domain), keep: words(parts.keep) };
  return Object.freeze({ ...law, ...PROTOCOLS[protocol].law(parts, law) });
}

function direct({ protocol, domain }, { size, keep }) {
  const yesNo = Array.isArray(domain) && size === 2 && (isTruth(domain) || domain.every(isWord));
  need(protocol !== "Warner" || yesNo, "the answers false and true, or two words, for Warner");
  const lie = words(String(sides(keep)[1]));
  return { width: widthOf(size), outputs: size, set: 1, lie };
}

function isTruth(domain) {
  return domain[0] === false && domain[1] === true;
}

function isWord(value) {
  return typeof value === "string" && value.trim() !== "";
}

function bitwise(parts, { size }) {
  return { raise: words(parts.raise), width: Math.ceil(size / 8) };
}

function bucketed({ protocol, buckets, prime }) {
  const most = protocol === "BLH" ? 2 : 65536;
  need(Number.isInteger(buckets) && buckets >= 2 && buckets <= most && prime === PRIME, "2 to 65536 buckets");
  return { buckets, width: 8 + widthOf(buckets), outputs: buckets, set: 1 };
}

function blockwise({ blocks, order }, { size }) {
  const powers = [blocks, order].every((n) => Number.isInteger(n) && n > 0 && n <= LARGEST_GRID && (n & (n - 1)) === 0);
  const fits = powers && order > 1 && blocks * (order - 1) >= size && blocks * order <= LARGEST_GRID;
  need(fits, "blocks of a Hadamard matrix that hold the domain");
  return { blocks, order, outputs: blocks * order, set: order / 2, width: widthOf(blocks * order) };
}

function ofSubsets({ size: members }, { size }) {
  need(Number.isInteger(members) && members > 0 && members < size, "subsets smaller than the domain");
  return { members, outputs: size, set: members, width: Math.ceil(size / 8) };
}

function ofPoints({ field, dimension }, { size }) {
  const counted = Number.isInteger(dimension) && dimension >= 2 && dimension <= 26 && isPrime(field);
  const fits = counted && field ** dimension <= LARGEST_GRID && points(field, dimension) >= size;
  need(fits, "a projective space over a prime field that holds the domain");
  const outputs = points(field, dimension);
  return { field, dimension, outputs, set: points(field, dimension - 1), width: widthOf(outputs) };
}

function isPrime(q) {
  if (!Number.isInteger(q) || q < 2 || q > LARGEST_FIELD) return false;
  for (let factor = 2; factor * factor <= q; factor++) if (q % factor === 0) return false;
  return true;
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

/** Tell whether A is p·2^64 rounded down, or up if `up` is 1, for a p between 0 and 1. */
function isRounded(chance, p, up) {
  const [num, den] = ratio(p, "p and q as fractions");
  return num < den && (num * TWO_64 + up * (den - 1n)) / den === sides(chance)[0];
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
function odds({ keep, raise, outputs, set }) {
  const [kept, left] = sides(keep);
  if (raise !== undefined) {
    const [raised, stayed] = sides(raise);
    return [kept * stayed, raised * left];
  }
  return [kept * BigInt(outputs - set), left * BigInt(set)];
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
