// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 && !arm64

package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
)

// ID returns a number that the calling goroutine has until it ends, and no other one
// has at the same time: that of stack traces.
func ID() uintptr {
	var text [64]byte
	trace := text[:runtime.Stack(text[:], false)]
	number, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	n, _ := strconv.ParseUint(string(number), 10, 64)
	return uintptr(n)
}
