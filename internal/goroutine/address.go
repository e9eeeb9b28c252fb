// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package goroutine

// ID returns a number that the calling goroutine has until it ends, and no other one
// has at the same time.
func ID() uintptr
