// SPDX-License-Identifier: Apache-2.0

// Package keytext writes keys as text, and reads keys that were typed: as a tuple, in
// hexadecimal, or as text with escapes.
//
//	key, err := keytext.Parse(`(21, "R", "User", 42)`)
//	text, elements := keytext.Format(key), keytext.Tuple(key)
package keytext
