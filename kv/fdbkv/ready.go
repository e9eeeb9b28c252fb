// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

// #include <stdint.h>
import "C"

import "runtime/cgo"

// kazahanaReady is called by the client, mostly on its network thread, when a
// future with a callback is ready. It must not block.
//
//export kazahanaReady
func kazahanaReady(waiterHandle C.uintptr_t) {
	h := cgo.Handle(waiterHandle)
	w := h.Value().(waiter)
	h.Delete()
	w.ready()
}

// waiter is a future that waits for the client.
type waiter interface{ ready() }
