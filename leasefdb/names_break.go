// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Break takes the name from its holder, if that holds it under the epoch, and
// otherwise does nothing. An operator calls it for a holder that has ended,
// instead of waiting. A holder that still runs finds out by its watch, when it
// renews, and when it checks.
func (n *Names) Break(ctx context.Context, t kv.Transactor, name string, epoch int64) error {
	_, err := n.breakIf(ctx, t, name, func(s State) bool { return s.Epoch == epoch })
	return err
}

// BreakLapsed takes the name from the holder that was observed, if its lease
// has lapsed and has not been renewed since, and reports whether it did. It
// serves programs that watch holders and do not want the name themselves. The
// epoch is kept. A renewal that commits first prevents it; one that comes later
// fails with a *[LostError]. Given a transaction, the name is free once that
// has committed. In a retry after an unknown outcome it reports false if the
// attempt before has committed.
func (n *Names) BreakLapsed(ctx context.Context, t kv.Transactor, name string, seen Observation) (bool, error) {
	return n.breakIf(ctx, t, name, seen.allowsTakeover)
}

// breakIf takes the name from its holder if the condition allows it.
func (n *Names) breakIf(ctx context.Context, t kv.Transactor, name string, allowed func(State) bool) (bool, error) {
	if err := checkText("name", name); err != nil {
		return false, err
	}
	return kv.Transact(ctx, t, func(tx kv.Transaction) (bool, error) {
		k, err := n.openKeys(ctx, tx, name)
		if err != nil || k.fence == nil {
			return false, err
		}
		state, err := k.readState(ctx, tx, name)
		if err != nil || !state.Held() || !allowed(state) {
			return false, err
		}
		k.freeName(tx, state.Epoch)
		return true, nil
	})
}
