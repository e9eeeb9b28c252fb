// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
)

// alone is the transport of a cluster of one process.
type alone struct{}

// Address implements [Transport].
func (alone) Address() string { return "" }

// Serve implements [Transport].
func (alone) Serve(Handler) error { return nil }

// Call implements [Transport].
func (alone) Call(context.Context, string, Request) (Reply, error) {
	return Reply{}, fmt.Errorf("%w: this one has no Options.Transport", ErrUnreachable)
}

// Close implements [Transport].
func (alone) Close(context.Context) error { return nil }
