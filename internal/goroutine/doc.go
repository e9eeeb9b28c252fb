// SPDX-License-Identifier: Apache-2.0

// Package goroutine tells goroutines apart, so that a mistake that a function makes in
// its own goroutine can be found while it runs. No result of a correct program may depend
// on it.
//
//	begun := goroutine.ID()
//	defer forget(begun)
//	…
//	if goroutine.ID() == begun {
//		return errOutside
//	}
//
// The runtime offers the number of a goroutine only in a stack trace, which takes some
// 10 µs. On amd64 and arm64 a few lines of assembly return the address of the runtime's
// own record of the goroutine: it does not move, and no two goroutines that live have
// the same. They use no offset into that record, so no version of Go can make them wrong.
package goroutine
