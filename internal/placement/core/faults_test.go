// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// The nine faults of a coordinator that was built from the same specification
// before: each has a test.

// Two resolves of one key made two requests and two claims.
func TestFault1ResolvesJoin(t *testing.T) {
	c := newMember(t)
	first := ok(t)(c.Resolve(key1, start))
	id := first.Request
	cmd := only[TryAcquire](t, first)
	second := ok(t)(c.Resolve(key1, start))
	none(t, second)
	if second.Request != id || !hasEvent(second, placement.Joined) {
		t.Errorf("the second resolve waits for request %d with events %v, want %d and Joined", second.Request, second.Events, id)
	}
	made := only[EnsureActivation](t, grant(t, c, cmd, lease(cmd, 1), start))
	out := store(t, c, only[StoreActivation](t, ensure(t, c, made, start)), nil, start)
	if a := answer(t, out); a.Request != id || a.Err != nil || a.Resolution.Locality != Local {
		t.Errorf("answer %+v, want one of request %d for both resolves", a, id)
	}
}

// A claim that was denied was dropped: the caller was not told the holder of the key.
func TestFault2DeniedClaimTellsHolder(t *testing.T) {
	c := newMember(t)
	cmd := claim(t, c, key1, start)
	ok(t)(c.UpdateTopology(topology(2, "a", "b"), start))
	holder := placement.Holder{Owner: placement.Owner{Name: "b", Incarnation: 1}, Address: "b:1", Epoch: 4}
	out := deny(t, c, cmd, &LockError{Key: key1, Holder: holder, Err: placement.ErrHeld}, start)
	none(t, out)
	a := answer(t, out)
	if a.Err != nil || a.Resolution.Locality != Remote || a.Resolution.Owner != holder.Owner || a.Resolution.Address != "b:1" || a.Resolution.Epoch != 4 {
		t.Errorf("answer %+v, want that b has it under epoch 4", a)
	}
	if !hasEvent(out, placement.LockDenied) {
		t.Errorf("events %v, want LockDenied", out.Events)
	}
	out = ok(t)(c.Resolve(key1, start))
	none(t, out)
	if out.Resolution == nil || out.Resolution.Owner != holder.Owner {
		t.Errorf("the next resolve is %+v, want the same holder and no claim", out.Resolution)
	}
}

// A store that had failed still resolved.
func TestFault3FailedStoreDoesNotResolve(t *testing.T) {
	for _, kept := range []bool{true, false} {
		c := newMember(t)
		cmd := claim(t, c, key1, start)
		l := lease(cmd, 1)
		l.Kept = kept
		made := only[EnsureActivation](t, grant(t, c, cmd, l, start))
		out := store(t, c, only[StoreActivation](t, ensure(t, c, made, start)), placement.ErrUnavailable, start)
		var typed *StorageError
		if a := answer(t, out); !errors.As(a.Err, &typed) || typed.Op != "store" || !errors.Is(a.Err, placement.ErrUnavailable) || !IsRetryable(a.Err) {
			t.Errorf("answer %+v, want a retryable *StorageError of a store", a)
		}
		end := only[Deactivate](t, out)
		if end.Cause != placement.CauseFailed {
			t.Errorf("it ends because of %v", end.Cause)
		}
		out = released(t, c, only[Release](t, ended(t, c, end, start)), nil, start)
		if kept {
			none(t, out) // the claim was the entry
		} else { // the store may have happened
			removed(t, c, only[RemoveActivation](t, out), nil, start)
		}
		if c.Held() != 0 {
			t.Errorf("%d are held", c.Held())
		}
	}
}

// A release that had failed discarded a good activation.
func TestFault4FailedReleaseKeepsActivation(t *testing.T) {
	c := newMember(t)
	cmd := claim(t, c, key1, start)
	l := only[LoadActivation](t, grant(t, c, cmd, lapsing(cmd, 1, start.Add(time.Minute)), start))
	made := only[EnsureActivation](t, load(t, c, l, nil, start))
	out := store(t, c, only[StoreActivation](t, ensure(t, c, made, start)), nil, start)
	out = released(t, c, only[Release](t, out), placement.ErrUnavailable, start)
	none(t, out)
	if !hasEvent(out, placement.ReleaseFailed) || !isLocal(t, c, key1, 1, start) {
		t.Errorf("events %v; the activation is to stay", out.Events)
	}
	again := only[Release](t, c.Tick(start.Add(2*time.Second)))
	released(t, c, again, nil, start)
	if !isLocal(t, c, key1, 1, start) || c.Held() != 1 {
		t.Errorf("%d are held, want the activation alone", c.Held())
	}
}

// An entry was used again without asking whether its owner is alive.
func TestFault5OwnerOfEntryIsChecked(t *testing.T) {
	b := placement.Owner{Name: "b", Incarnation: 1}
	for _, test := range []struct {
		name     string
		entry    ActivationEntry
		members  []string
		remote   bool // it is b's
		tooOld   bool // whether b is alive cannot be known yet
		previous bool // b is dead, and its record is the one before
	}{
		{"alive", ActivationEntry{Owner: b, Address: "b:1", Epoch: 3, Topology: 2}, []string{"a", "b"}, true, false, false},
		{"dead", ActivationEntry{Owner: b, Epoch: 3, Topology: 2}, []string{"a"}, false, false, true},
		{"newer", ActivationEntry{Owner: b, Epoch: 3, Topology: 9}, []string{"a"}, false, true, false},
		{"own", ActivationEntry{Owner: selfA, Epoch: 3, Topology: 2}, []string{"a"}, false, false, true},
		{"own, earlier run", ActivationEntry{Owner: placement.Owner{Name: "a", Incarnation: 0}, Epoch: 3, Topology: 2}, []string{"a"}, false, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newMember(t)
			ok(t)(c.UpdateTopology(topology(2, test.members...), start))
			key := keyOf(c, selfA)
			cmd := claim(t, c, key, start)
			l := only[LoadActivation](t, grant(t, c, cmd, lapsing(cmd, 5, time.Time{}), start))
			test.entry.Record = ActivationRecord{Snapshot: []byte("before"), Version: 8}
			out := load(t, c, l, &test.entry, start)
			if test.previous {
				if e := only[EnsureActivation](t, out); e.Previous == nil || e.Previous.Version != 8 || e.Epoch != 5 {
					t.Errorf("%+v, want the record of the dead owner", e)
				}
				return
			}
			if r := only[Release](t, out); r.Lease.Epoch != 5 {
				t.Errorf("%+v, want the release of epoch 5", r)
			}
			a := answer(t, out)
			if test.remote && (a.Err != nil || a.Resolution.Owner != b || a.Resolution.Epoch != 3 || a.Resolution.Locality != Remote) {
				t.Errorf("answer %+v, want b", a)
			}
			if test.tooOld && (!errors.Is(a.Err, placement.ErrTopologyBehind) || !IsRetryable(a.Err)) {
				t.Errorf("answer %+v, want ErrTopologyBehind", a)
			}
		})
	}
}

// A lease had no epoch, and its expiry was never read.
func TestFault6LeaseLapses(t *testing.T) {
	until := start.Add(time.Second)
	t.Run("at the grant", func(t *testing.T) {
		c := newMember(t)
		cmd := claim(t, c, key1, start)
		out := grant(t, c, cmd, lapsing(cmd, 1, until), until)
		only[Release](t, out)
		if a := answer(t, out); !errors.Is(a.Err, placement.ErrStale) {
			t.Error(a)
		}
	})
	t.Run("before the store", func(t *testing.T) {
		c := newMember(t)
		cmd := claim(t, c, key1, start)
		l := only[LoadActivation](t, grant(t, c, cmd, lapsing(cmd, 1, until), start))
		made := only[EnsureActivation](t, load(t, c, l, nil, start))
		out := ensure(t, c, made, until)
		only[Deactivate](t, out)
		if a := answer(t, out); !errors.Is(a.Err, placement.ErrStale) || !IsRetryable(a.Err) {
			t.Error(a)
		}
	})
	t.Run("an epoch again", func(t *testing.T) {
		c := newMember(t)
		activate(t, c, key1, 7, start)
		end := only[Deactivate](t, c.PassivateIdle(start.Add(time.Hour), time.Minute))
		removed(t, c, only[RemoveActivation](t, ended(t, c, end, start)), nil, start)
		cmd := claim(t, c, key1, start)
		out := grant(t, c, cmd, lease(cmd, 7), start)
		only[Release](t, out)
		if a := answer(t, out); !errors.Is(a.Err, placement.ErrStale) {
			t.Error(a)
		}
	})
}

// A topology had no version, and one that came during a request was not seen.
func TestFault7TopologyDuringRequest(t *testing.T) {
	c := newMember(t)
	ok(t)(c.UpdateTopology(topology(5, "a", "b"), start))
	toB := keyOf(c, placement.Owner{Name: "b", Incarnation: 1})
	ok(t)(c.UpdateTopology(topology(6, "a"), start))
	if _, err := c.UpdateTopology(topology(5, "a", "b"), start); !errors.Is(err, placement.ErrStaleTopology) {
		t.Errorf("an older topology: %v", err)
	}
	cmd := claim(t, c, toB, start)
	made := only[EnsureActivation](t, grant(t, c, cmd, lease(cmd, 1), start))
	ok(t)(c.UpdateTopology(topology(7, "a", "b"), start))
	out := ensure(t, c, made, start)
	if a := answer(t, out); a.Err != nil || a.Resolution.Owner.Name != "b" || a.Resolution.Locality != Remote || a.Resolution.Decision.Topology != 7 {
		t.Errorf("answer %+v, want b by topology 7", a)
	}
	end := only[Deactivate](t, out)
	released(t, c, only[Release](t, ended(t, c, end, start)), nil, start)
	if c.Held() != 0 {
		t.Errorf("%d are held", c.Held())
	}
}

// Requests never timed out, and a stop forgot the leases that were held.
func TestFault8TimeoutAndStop(t *testing.T) {
	c := newMember(t)
	cmd := claim(t, c, key1, start)
	none(t, c.Tick(start.Add(10*time.Second-1)))
	out := c.Tick(start.Add(10 * time.Second))
	if a := answer(t, out); !errors.Is(a.Err, placement.ErrTimeout) || !strings.HasSuffix(a.Err.Error(), "waits for acquire since 10s") || !hasEvent(out, placement.TimedOut) {
		t.Errorf("answer %+v, want an ErrTimeout at acquire", a)
	}
	only[Release](t, grant(t, c, cmd, lease(cmd, 1), start)) // no resolve waits any more

	c = newMember(t)
	cmd = claim(t, c, key1, start)
	made := only[EnsureActivation](t, grant(t, c, cmd, lease(cmd, 1), start))
	if a := answer(t, ok(t)(c.Stop(start))); !errors.Is(a.Err, placement.ErrStopped) {
		t.Error(a)
	}
	end := only[Deactivate](t, ensure(t, c, made, start))
	if end.Cause != placement.CauseStop {
		t.Errorf("it ends because of %v", end.Cause)
	}
	released(t, c, only[Release](t, ended(t, c, end, start)), nil, start)
	if c.Held() != 0 {
		t.Errorf("%d are held", c.Held())
	}
}

// Two units of time were in use in one interface.
func TestFault9OneClock(t *testing.T) {
	now := start.Add(1234567891 * time.Nanosecond)
	c := newMember(t)
	out := ok(t)(c.Resolve(key1, now))
	cmd := only[TryAcquire](t, out)
	if !cmd.Now.Equal(now) || !out.Events[0].ObservedAt.Equal(now) {
		t.Errorf("command %v, event %v, want %v", cmd.Now, out.Events[0].ObservedAt, now)
	}
	made := only[EnsureActivation](t, grant(t, c, cmd, lease(cmd, 1), now))
	s := only[StoreActivation](t, ensure(t, c, made, now))
	if !s.Entry.ObservedAt.Equal(now) {
		t.Errorf("entry %v, want %v", s.Entry.ObservedAt, now)
	}
	if a := answer(t, store(t, c, s, nil, now)); !a.Resolution.Decision.ObservedAt.Equal(now) {
		t.Errorf("decision %v, want %v", a.Resolution.Decision.ObservedAt, now)
	}
	idle := now.Add(90 * time.Second)
	none(t, c.PassivateIdle(idle.Add(-1), 90*time.Second))
	if end := only[Deactivate](t, c.PassivateIdle(idle, 90*time.Second)); !end.IdleSince.Equal(now) {
		t.Errorf("idle since %v, want %v", end.IdleSince, now)
	}
}
