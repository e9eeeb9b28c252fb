// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

// #include <stdint.h>
import "C"

import "runtime/cgo"

// kazahanaReady is called by the client, mostly on its network thread, when a
// future that somebody waits for is ready. It must not block.
//
//export kazahanaReady
func kazahanaReady(waiter C.uintptr_t) {
	h := cgo.Handle(waiter)
	w := h.Value().(waiting)
	h.Delete()
	w.ready()
}

// waiting is a future that waits for the client.
type waiting interface{ ready() }
