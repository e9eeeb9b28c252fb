// SPDX-License-Identifier: Apache-2.0

package mux

import "github.com/kazahana-db/kazahana/rafttimer"

// PanicError is the panic of the handler, which the Mux recovered.
type PanicError struct {
	Group any // the *Group[T] that the handler was called for
	rafttimer.PanicError
}
