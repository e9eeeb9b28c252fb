// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
)

// Why a key cannot be resolved, or a member cannot start.
var (
	// ErrNotReady says that no topology is known yet, or that the process has lost its membership
	// and joins again; the text says which. Retry.
	ErrNotReady = errors.New("placement: no topology is known yet; retry")
	// ErrStopped says that the host, client or node was stopped, or never started.
	ErrStopped = errors.New("placement: the coordinator is stopped")
	// ErrStarted says that the host, client or node was started already.
	ErrStarted = errors.New("placement: the coordinator was started already")
	// ErrDead says that others take this incarnation of the member for dead. The
	// member needs a new incarnation. It wraps [ErrStopped].
	ErrDead = fmt.Errorf("%w: others take this incarnation for dead", ErrStopped)
	// ErrInvalidKey says that the kind or the id of a key breaks the rules of [Key]. The text says which.
	ErrInvalidKey = errors.New("placement: the key is invalid")
	// ErrPending says that a resolve waits for a request. Resolve again later.
	ErrPending = errors.New("placement: the activation is under way; retry")
	// ErrNoMember says that no member of the topology can activate the key. The text says
	// what the members lack. Start a member that has the kind and what the strategy asks for.
	ErrNoMember = errors.New("placement: no member can activate the key")
	// ErrOverloaded says that too many requests are under way, or wait for one key. Retry.
	ErrOverloaded = errors.New("placement: too many resolves are under way; retry")
	// ErrHeld says that another owner has the key.
	ErrHeld = errors.New("placement: another owner has the key")
	// ErrStale says that a lease, an epoch or an owner is not in force any more.
	ErrStale = errors.New("placement: the lease is not in force any more")
	// ErrUnavailable says that the database of claims could not be reached. The operation may have happened.
	ErrUnavailable = errors.New("placement: the home of locks or activations cannot be reached")
	// ErrTooLarge says that the snapshot of an activation is over the limit. Nothing was written.
	ErrTooLarge = errors.New("placement: the snapshot is too large")
	// ErrTimeout says that a request has not ended in time. It gives back what it has
	// acquired when it ends. Retry.
	ErrTimeout = errors.New("placement: the activation takes too long; retry")
	// ErrStaleTopology says that a topology is older than the one in force.
	ErrStaleTopology = errors.New("placement: the topology is older than the one in force")
	// ErrTopologyBehind says that the key was placed by a topology newer than the
	// one in force here. Retry once that has arrived.
	ErrTopologyBehind = errors.New("placement: the key was placed by a newer topology; retry")
	// ErrActivationLost is the cause of contexts of activations that another owner may have.
	ErrActivationLost = errors.New("placement: another owner may have the activation")
)
