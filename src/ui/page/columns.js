/*
 * Columns of numbers as the page has them: seven bits a byte, the lowest first, in base64
 * (src/export/page.h). A column has as many numbers as a tree has nodes after node 0, whose number is 0.
 * SPDX-License-Identifier: MIT
 */
function bytesOf(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text); /* browsers of 2025 and later: several times as fast */
  const signs = atob(text), bytes = new Uint8Array(signs.length);
  for (let at = 0; at < bytes.length; at++)
    bytes[at] = signs.charCodeAt(at);
  return bytes;
}
/* Numbers of nodes and of functions, which have fewer than 32 bits: that is faster. */
export function smallNumbersOf(text, nodes) {
  const bytes = bytesOf(text), numbers = new Uint32Array(nodes);
  for (let node = 1, at = 0; node < nodes; node++) {
    let byte = bytes[at++], number = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++];
      number |= (byte & 127) << shift;
    }
    numbers[node] = number;
  }
  return numbers;
}
export function numbersOf(text, nodes) {
  const bytes = bytesOf(text), numbers = new Float64Array(nodes);
  for (let node = 1, at = 0; node < nodes; node++) {
    let byte = bytes[at++], number = byte & 127;
    for (let scale = 128; byte > 127; scale *= 128) {
      byte = bytes[at++];
      number += (byte & 127) * scale;
    }
    numbers[node] = number;
  }
  return numbers;
}
