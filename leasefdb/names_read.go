// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Holder returns the state of a name without the Revision; see [Names.Get]. It
// reads the fence key alone. So, given a transaction that writes, it conflicts
// with a change of the holder and not with renewals.
func (n *Names) Holder(ctx context.Context, t kv.ReadTransactor, name string) (State, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (State, error) {
		return n.StartHolder(ctx, tx, name).Wait(ctx)
	})
}

// StartHolder begins [Names.Holder], so that other reads of tx share its round.
func (n *Names) StartHolder(ctx context.Context, tx kv.ReadTransaction, name string) HolderRead {
	k, err := n.openKeys(ctx, tx, name)
	if err != nil || k.fence == nil {
		return HolderRead{name: name, read: kv.Resolved[[]byte](nil, err)}
	}
	return HolderRead{name: name, key: k.fence, read: tx.Get(k.fence)}
}

// States returns the states of several names, in their order, in one round of reads:
// see [Names.Get]. If some cannot be read it returns the zero State for each of them, the states
// of the others, and their errors, each a *[StateError], joined.
func (n *Names) States(ctx context.Context, t kv.ReadTransactor, names ...string) ([]State, error) {
	var unread []error
	states, err := kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) ([]State, error) {
		unread = nil
		states, reads := make([]State, len(names)), make([]nameRead, len(names))
		for i, name := range names {
			k, err := n.openKeys(ctx, tx, name)
			if err != nil {
				return nil, err
			}
			reads[i] = k.startRead(tx)
		}
		for i, name := range names {
			state, err := reads[i].wait(ctx, name)
			switch {
			case err == nil:
				states[i] = state
			case errors.As(err, new(*StateError)):
				unread = append(unread, err)
			default:
				return nil, err
			}
		}
		return states, nil
	})
	if err != nil {
		return nil, err
	}
	return states, errors.Join(unread...)
}

// openKeys returns the keys of a name, none if the directory does not exist.
func (n *Names) openKeys(ctx context.Context, tx kv.ReadTransaction, name string) (keys, error) {
	if err := checkText("name", name); err != nil {
		return keys{}, err
	}
	d, err := n.dirs.OpenRead(ctx, tx, n.path)
	if errors.Is(err, directory.ErrNotFound) {
		return keys{}, nil
	}
	if err != nil {
		return keys{}, err
	}
	return keysOf(d, name)
}

// Get returns the state of a name, that of one that was never held if there is
// none. Given a transaction that writes, it conflicts with every change of the
// state, renewals included.
func (n *Names) Get(ctx context.Context, t kv.ReadTransactor, name string) (State, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (State, error) {
		k, err := n.openKeys(ctx, tx, name)
		if err != nil {
			return State{}, err
		}
		return k.readState(ctx, tx, name)
	})
}
