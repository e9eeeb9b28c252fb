// SPDX-License-Identifier: Apache-2.0

//go:build !cgo

package sqlite

// HasNative reports whether the program was built with cgo, and so can open [Native].
const HasNative = false

func nativeSource(_, _ string) source { return source{driver: "SQLite in C, which needs cgo"} }
