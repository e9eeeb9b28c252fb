// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Claim claims a name once. If it is another's the error is a *[HeldError]; see
// [Claim.Seen]. Each grant has a greater epoch than all grants before it, also
// after releases; epochs are never used again.
//
// Given a database, the claim is a transaction of its own. Given a transaction,
// it becomes a part of that: the grant is good once it has committed. One round
// of reads, two writes.
func (n *Names) Claim(ctx context.Context, t kv.Transactor, name string, c Claim) (Grant, error) {
	if _, own := t.(kv.Database); !own && c.RequestID == "" {
		return Grant{}, errors.New("leasefdb: a claim in a transaction needs a RequestID, made before its first attempt")
	}
	c = c.withDefaults()
	if err := errors.Join(checkText("name", name), c.Validate()); err != nil {
		return Grant{}, err
	}
	began := time.Now()
	g, err := kv.Transact(ctx, t, func(tx kv.Transaction) (Grant, error) { return n.claimIn(ctx, tx, name, c) })
	if err != nil {
		return Grant{}, err
	}
	g.began = began
	return g, nil
}

func (n *Names) claimIn(ctx context.Context, tx kv.Transaction, name string, c Claim) (Grant, error) {
	d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
	if err != nil {
		return Grant{}, err
	}
	k, err := keysOf(d, name)
	if err != nil {
		return Grant{}, err
	}
	state, err := k.readState(ctx, tx, name)
	if err != nil {
		return Grant{}, err
	}
	granted := state.Held() && state.Request == c.RequestID && state.Holder == c.Holder
	switch {
	case granted:
	case state.Held() && !c.Seen.allowsTakeover(state):
		return Grant{}, &HeldError{state, k.fence}
	default:
		state.Epoch++
		state.Holder, state.Request, state.Duration = c.Holder, c.RequestID, c.Duration
		tx.Set(k.fence, state.encode())
	}
	k.countChange(tx) // observers of the name begin anew
	return Grant{Name: name, Holder: state.Holder, Epoch: state.Epoch, Duration: state.Duration, keys: k, value: state.encode()}, nil
}
