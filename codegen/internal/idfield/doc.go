// SPDX-License-Identifier: Apache-2.0

// Package idfield inserts missing ID fields into the source of structs, with the
// import that they need, and leaves all other text as it is.
package idfield
