// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"time"
)

// Store keeps the leases: for each service an ordered map from byte strings to
// byte strings, changed by transactions. Keys are at most 64 bytes long, values
// from 1 byte to 16 KiB. Implementations are safe for concurrent use, by several
// processes if the medium is shared. Package leasetest checks one;
// package memory is the shortest. Values hold the secrets of leases: a program that
// can read them can release the leases.
type Store interface {
	// Update runs fn in a transaction on the map of one service and commits
	// what it set and deleted, all or nothing, durably before it returns. At the
	// commit the map still holds what [Tx.Get] returned to fn; otherwise fn runs
	// again. The simplest implementation locks the map while fn runs. If fn sets
	// and deletes nothing, there is nothing to commit, and what it read was true
	// at some moment of the call. A service without keys needs no map.
	//
	// An error of fn is returned, wrapped or not, and nothing is changed. After
	// another error the outcome may be unknown. ctx ends the transaction.
	Update(ctx context.Context, service string, fn func(tx Tx) error) error

	// Services returns the ids of the services that have pairs, in ascending
	// order: those greater than after, at most limit of them. It need not be as of one
	// moment. It changes nothing. A store that cannot tell returns an error that wraps
	// [errors.ErrUnsupported]; each server then counts only the services that it has seen
	// against [Options.MaxServices].
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// Tx is a transaction of a [Store]. It is used by one goroutine, and by none
// once the function it was given to has returned. The function makes all of its
// reads before its first write; a read after a write may return either value.
type Tx interface {
	// Now is the store's clock: the time of its server if it has one, else
	// [time.Now]. It is the same throughout the transaction. Leases
	// stay disjoint whatever it says.
	Now() time.Time

	Reader

	// Set stores a value; the last write of a key counts. The caller does not
	// change key and value afterwards.
	Set(key, value []byte)

	// Delete removes a key, if it is there.
	Delete(key []byte)

	// Incarnation names the life of a store that may forget what it has acknowledged, after
	// a crash or a failover for instance: a service is put into quarantine if the incarnation
	// has changed since its last lease. It is empty where the store forgets nothing, or does
	// not know.
	Incarnation() string
}

// Reader reads the map of one service, which a [Tx] does.
type Reader interface {
	// Get returns the values of keys, nil for absent ones, if possible in one
	// round trip. It is serializable: see [Store.Update].
	// The caller does not change the results.
	Get(ctx context.Context, keys ...[]byte) ([][]byte, error)

	// Scan returns the first pairs with begin <= key < end, at most limit, in
	// the order of the keys. It is a snapshot at best: what it returns may have
	// changed by the time of the commit, or even have changed between two
	// calls. The caller does not change the results.
	Scan(ctx context.Context, begin, end []byte, limit int) ([]Pair, error)
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }
