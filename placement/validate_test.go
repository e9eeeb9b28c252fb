// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestKeyValidate(t *testing.T) {
	for _, key := range []Key{{"k", "1"}, {"口座", "花子/1"}, {strings.Repeat("k", MaxKind), strings.Repeat("i", MaxID)}} {
		if err := key.Validate(); err != nil {
			t.Errorf("%v: %v", key, err)
		}
		if back, err := ParseKey(key.String()); err != nil || back != key {
			t.Errorf("ParseKey(%q) = %v, %v", key.String(), back, err)
		}
	}
	for _, test := range []struct {
		key    Key
		faults string
	}{
		{Key{}, "the kind is empty; the id is empty"},
		{Key{"k/x", "1"}, `the kind contains "/", which ends it in kind/id`},
		{Key{"k", "a\x00"}, "the id contains a NUL byte"},
		{Key{"k", "a\xff"}, "the id is not valid UTF-8"},
		{Key{strings.Repeat("k", MaxKind+1), "1"}, "the kind has 256 bytes; at most 255 are possible"},
		{Key{"k", strings.Repeat("i", MaxID+1)}, "the id has 1025 bytes; at most 1024 are possible"},
	} {
		if err := test.key.Validate(); !errors.Is(err, ErrInvalidKey) || !strings.HasSuffix(err.Error(), `": `+test.faults) || len(err.Error()) > 300 {
			t.Errorf("%.20v: %v, want %q", test.key, err, test.faults)
		}
	}
	if _, err := ParseKey("alone"); err == nil {
		t.Error("a key without a slash")
	}
}

func TestOptionsValidate(t *testing.T) {
	_, err := NewCoordinator(Options{Self: Owner{"a\x00", 0}, Address: "\xff", RequestTimeout: -1, MaxRequests: -1, MaxWaiters: -1, CacheSize: -1, MovesPerTick: -1})
	for _, want := range []string{"the member Self: the name contains a NUL byte", "the address is not valid UTF-8", "the incarnation is 0", "RequestTimeout", "MaxRequests", "MaxWaiters", "CacheSize", "MovesPerTick"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it tells of %q", err, want)
		}
	}
}

func TestTopologyValidate(t *testing.T) {
	bad := Topology{Members: []Member{
		{Owner: Owner{"a", 1}},
		{Owner: Owner{"b", 0}, Address: "x\x00"},
		{Owner: Owner{"a", 2}},
		{Owner: Owner{strings.Repeat("n", MaxName+1), 1}, Kinds: []string{"k", "k", "", "a/b", "\xff"}},
	}}
	err := bad.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), "placement: topology 0: ") {
		t.Fatalf("%v, want the faults of topology 0", err)
	}
	for _, want := range []string{
		"the version must be 1 or more", `members 0 and 2 are both called "a" (a#2 and a#1)`, `member 1, "b": the incarnation is 0`, "the address contains a NUL byte",
		"the name has 256 bytes", `the kind "k" is there twice`, "the kind is empty", `the kind "a/b" contains "/"`, "the kind is not valid UTF-8",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it tells of %q", err, want)
		}
	}
	c := newMember(t)
	if _, again := c.UpdateTopology(bad, start); again == nil || again.Error() != err.Error() || c.Snapshot().Topology != 1 {
		t.Errorf("%v, topology %d is in force, want 1 and %v", again, c.Snapshot().Topology, err)
	}
}

func TestBadKinds(t *testing.T) {
	c, err := NewCoordinator(Options{Self: selfA})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartMember([]string{"a/b", "", "k", "k"}, start); err == nil || c.State() != StateStopped {
		t.Errorf("%v, %v", err, c.State())
	}
}

// A start that is refused changes nothing.
func TestStartedTwice(t *testing.T) {
	c := newMember(t)
	if _, err := c.StartMember([]string{"other"}, start); !errors.Is(err, ErrStarted) {
		t.Errorf("%v, want ErrStarted", err)
	}
	if _, err := c.StartClient(start); !errors.Is(err, ErrStarted) || c.State() != StateMember {
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
	ok(t)(c.UpdateTopology(Topology{Version: 2, Members: []Member{m}}, start))
	if _, err := c.Resolve(Key{"more", "1"}, start); !errors.Is(err, ErrNoMember) {
		t.Errorf("%v, want an ErrNoMember", err)
	}
}

type retryableError struct{ yes bool }

func (retryableError) Error() string     { return "passing" }
func (p retryableError) Retryable() bool { return p.yes }

func TestIsRetryable(t *testing.T) {
	held, ended := &LockError{Err: ErrHeld}, &LockError{Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}
	for _, err := range []error{
		ErrNotReady, ErrPending, ErrOverloaded, ErrTimeout, ErrUnavailable, ErrTopologyBehind, ErrStale, held, ended,
		&StorageError{Err: context.Canceled}, &ActivationError{Err: retryableError{true}}, fmt.Errorf("x: %w", ErrNotReady),
	} {
		if !IsRetryable(err) {
			t.Errorf("%v is retryable", err)
		}
	}
	for _, err := range []error{
		nil, ErrStopped, ErrDead, ErrNoMember, ErrInvalidKey, &StorageError{Err: ErrTooLarge}, context.Canceled, context.DeadlineExceeded,
		&ActivationError{Err: ErrUnavailable}, &ActivationError{Err: context.DeadlineExceeded}, &ActivationError{Err: retryableError{false}}, errors.New("x"), &LockError{Err: errors.New("x")},
	} {
		if IsRetryable(err) {
			t.Errorf("%v is not retryable", err)
		}
	}
}

// Each value of an enumeration has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Resolved; k <= Stopped; k++ {
		seen[k.String()] = true
	}
	for k := CacheAdded; k <= CacheHit; k++ {
		seen[k.String()] = true
	}
	for c := CauseIdle; c <= CauseStop; c++ {
		seen["cause "+c.String()] = true
	}
	for s := StateStopped; s <= StateClient; s++ {
		seen["state "+s.String()] = true
	}
	for s := acquiring; s <= removing; s++ {
		seen["step "+s.String()] = true
	}
	want := int(Stopped) + int(CacheHit) + int(CauseStop) + int(StateClient) + 1 + int(removing)
	if len(seen) != want || seen["unknown (22)"] || (Stopped+1).String() != "unknown (22)" || Local.String() != "local" || Remote.String() != "remote" {
		t.Errorf("%d names, want %d: %v", len(seen), want, seen)
	}
}
