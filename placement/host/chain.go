// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/placement"
)

// chainKey is the key of a context's call chain: the activations that wait for the work
// of the context.
type chainKey struct{}

// chainOf returns the activations that wait for the work of ctx, the first caller first.
func chainOf(ctx context.Context) []placement.Key {
	chain, _ := ctx.Value(chainKey{}).([]placement.Key)
	return chain
}

// checkChain refuses a call that could never be handled.
func checkChain(key placement.Key, chain []placement.Key) error {
	if slices.Contains(chain, key) {
		return &CycleError{Key: key, Chain: chain}
	}
	if len(chain) >= MaxChain {
		return &DepthError{Key: key, Most: MaxChain}
	}
	return nil
}
