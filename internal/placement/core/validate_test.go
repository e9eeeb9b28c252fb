// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
)

func TestOptionsValidate(t *testing.T) {
	_, err := NewCoordinator(Options{Self: placement.Owner{Name: "a\x00", Incarnation: 0}, Address: "\xff", RequestTimeout: -1, MaxRequests: -1, MaxWaiters: -1, CacheSize: -1, MovesPerTick: -1})
	for _, want := range []string{"the member Self: the name contains a NUL byte", "the address is not valid UTF-8", "the incarnation is 0", "RequestTimeout", "MaxRequests", "MaxWaiters", "CacheSize", "MovesPerTick"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it tells of %q", err, want)
		}
	}
}

func TestBadKinds(t *testing.T) {
	c, err := NewCoordinator(Options{Self: selfA})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartMember([]string{"a/b", "", "k", "k"}, start); err == nil || c.State() != placement.StateStopped {
		t.Errorf("%v, %v", err, c.State())
	}
}

// A start that is refused changes nothing.
func TestStartedTwice(t *testing.T) {
	c := newMember(t)
	if _, err := c.StartMember([]string{"other"}, start); !errors.Is(err, placement.ErrStarted) {
		t.Errorf("%v, want ErrStarted", err)
	}
	if _, err := c.StartClient(start); !errors.Is(err, placement.ErrStarted) || c.State() != placement.StateMember {
		t.Errorf("%v, want ErrStarted; %v", err, c.State())
	}
	claim(t, c, key1, start)
}

// A client activates nothing, even if a topology lists it as a member.
func TestListedClient(t *testing.T) {
	c, err := NewCoordinator(Options{Self: selfA})
	if err != nil {
		t.Fatal(err)
	}
	ok(t)(c.StartClient(start))
	ok(t)(c.UpdateTopology(topology(1, "a"), start))
	out := ok(t)(c.Resolve(key1, start))
	none(t, out)
	if out.Resolution == nil || out.Resolution.Locality != Remote {
		t.Errorf("%+v, want a remote authority", out.Resolution)
	}
}

// A topology may list kinds that this member was not started with.
func TestKindOfTopologyAlone(t *testing.T) {
	c := newMember(t)
	m := member("a")
	m.Kinds = append(m.Kinds, "more")
	ok(t)(c.UpdateTopology(placement.Topology{Version: 2, Members: []placement.Member{m}}, start))
	if _, err := c.Resolve(placement.Key{Kind: "more", ID: "1"}, start); !errors.Is(err, placement.ErrNoMember) {
		t.Errorf("%v, want an ErrNoMember", err)
	}
}

type retryableError struct{ yes bool }

func (retryableError) Error() string     { return "passing" }
func (p retryableError) Retryable() bool { return p.yes }

func TestIsRetryable(t *testing.T) {
	held, ended := &LockError{Err: placement.ErrHeld}, &LockError{Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}
	for _, err := range []error{
		placement.ErrNotReady, placement.ErrPending, placement.ErrOverloaded, placement.ErrTimeout, placement.ErrUnavailable, placement.ErrTopologyBehind, placement.ErrStale, held, ended,
		&StorageError{Err: context.Canceled}, &ActivationError{Err: retryableError{true}}, fmt.Errorf("x: %w", placement.ErrNotReady),
	} {
		if !IsRetryable(err) {
			t.Errorf("%v is retryable", err)
		}
	}
	for _, err := range []error{
		nil, placement.ErrStopped, placement.ErrDead, placement.ErrNoMember, placement.ErrInvalidKey, &StorageError{Err: placement.ErrTooLarge}, context.Canceled, context.DeadlineExceeded,
		&ActivationError{Err: placement.ErrUnavailable}, &ActivationError{Err: context.DeadlineExceeded}, &ActivationError{Err: retryableError{false}}, errors.New("x"), &LockError{Err: errors.New("x")},
	} {
		if IsRetryable(err) {
			t.Errorf("%v is not retryable", err)
		}
	}
}

// A topology with faults does not come into force.
func TestBadTopology(t *testing.T) {
	c, bad := newMember(t), topology(2, "a", "a")
	if _, err := c.UpdateTopology(bad, start); err == nil || err.Error() != bad.Validate().Error() || c.Snapshot().Topology != 1 {
		t.Errorf("%v, topology %d is in force, want 1 and %v", err, c.Snapshot().Topology, bad.Validate())
	}
}

// Each value of an enumeration has a name of its own.
func TestStepNames(t *testing.T) {
	seen := map[string]bool{}
	for k := CacheAdded; k <= CacheHit; k++ {
		seen[k.String()] = true
	}
	for s := acquiring; s <= removing; s++ {
		seen["step "+s.String()] = true
	}
	if want := int(CacheHit) + int(removing); len(seen) != want || Local.String() != "local" || Remote.String() != "remote" {
		t.Errorf("%d names, want %d: %v", len(seen), want, seen)
	}
}
