// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// The reply names the holder of the key: the caller corrects its location.
func TestReplyCorrectsLocation(t *testing.T) {
	m, _, x, f, at := newRouted(t)
	*at = holderAt("a", 3)
	there := holderAt("b", 4)
	x.to = func(context.Context, string, Request) (Reply, error) { return done("ok", there) }
	if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
		t.Fatal(got, err)
	}
	if len(f.learned) != 1 || f.learned[0] != there {
		t.Errorf("learned %v", f.learned)
	}
	*at = there
	if _, err := m.Call(t.Context(), "id", ""); err != nil || len(f.learned) != 1 {
		t.Errorf("a right location was learned again: %v, %v", f.learned, err)
	}
}

// A process that does not have the activation says so, and the call goes to the one that has it.
func TestRefusalIsRetriedElsewhere(t *testing.T) {
	for name, refusal := range map[string]Reply{
		"not here":           Refuse(ErrNotHere),
		"it stops":           Refuse(placement.ErrStopped),
		"it is dead":         Refuse(placement.ErrDead),
		"it has no topology": Refuse(placement.ErrNotReady),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, f, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(_ context.Context, address string, _ Request) (Reply, error) {
					if address == "a" {
						*at = holderAt("b", 4)
						return refusal, nil
					}
					return done("b", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "b" {
					t.Error(got, err)
				}
				if x.path() != "a0 b0" || len(f.learned) != 0 || len(f.forgot) != 1 {
					t.Errorf("went to %s; learned %v, forgot %v", x.path(), f.learned, f.forgot)
				}
			})
		})
	}
}

func TestUnreachableIsRetriedUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, x, f, at := newRouted(t)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) {
			return Reply{}, fmt.Errorf("%w: refused", ErrUnreachable)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := m.Call(ctx, "id", "")
		if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrOutcomeUnknown) {
			t.Error(err)
		}
		if n := len(x.sent); n < 60 || n > 600 || len(f.forgot) != n {
			t.Errorf("%d attempts in a minute, %d locations forgotten", n, len(f.forgot))
		}
	})
}

func TestUnknownOutcome(t *testing.T) {
	broken := errors.New("connection reset")
	for name, failure := range map[string]func() (Reply, error){
		"the connection breaks":     func() (Reply, error) { return Reply{}, broken },
		"a forwarder does not know": func() (Reply, error) { return Reply{Status: Unknown, Err: wireErrorOf(broken)}, nil },
		"a reply without status":    func() (Reply, error) { return Reply{}, nil },
		"a status of a newer version": func() (Reply, error) {
			return Reply{Status: Unknown + 1}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _, x, _, at := newRouted(t)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) { return failure() }
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || len(x.sent) != 1 {
					t.Errorf("%v after %d attempts", err, len(x.sent))
				}

				m, _, x, _, at = newRouted(t, Idempotent)
				*at = holderAt("a", 3)
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) < 3 {
						return failure()
					}
					return done("ok", *at)
				}
				if got, err := m.Call(t.Context(), "id", ""); err != nil || got != "ok" {
					t.Errorf("an idempotent method: %v, %v", got, err)
				}

				// If no attempt succeeds, that one may have been handled stays known.
				x.to = func(context.Context, string, Request) (Reply, error) {
					if len(x.sent) == 4 {
						return failure()
					}
					return Reply{}, ErrUnreachable
				}
				if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrUnreachable) {
					t.Errorf("an idempotent method that is unreachable in the end: %v", err)
				}
			})
		})
	}
}

// Refusals that another attempt cannot change are returned at once.
func TestFinalRefusals(t *testing.T) {
	key := placement.Key{Kind: "kind", ID: "id"}
	for _, refusal := range []error{
		&MethodError{Kind: "kind", Method: "m"}, &MailboxFullError{Key: key}, ErrOverloaded, &CodecError{Got: "a", Want: "b"},
		&placement.NoMemberError{Key: key}, &placement.ActivationError{Key: key, Err: errors.New("x")}, &PayloadError{Err: errors.New("x")},
	} {
		m, _, x, _, at := newRouted(t, Idempotent)
		*at = holderAt("a", 3)
		x.to = func(context.Context, string, Request) (Reply, error) { return Refuse(refusal), nil }
		_, err := m.Call(t.Context(), "id", "")
		var failed *CallError
		if !errors.As(err, &failed) || failed.Unknown || len(x.sent) != 1 || !strings.Contains(err.Error(), refusal.Error()) {
			t.Errorf("%T: %v after %d attempts", refusal, err, len(x.sent))
		}
	}
}

// TestOverloadKeepsTheLocation: a member that refuses because it has too many requests has not said
// that the key is elsewhere. Otherwise each refused call made the next one ask the home.
func TestOverloadKeepsTheLocation(t *testing.T) {
	m, _, x, f, at := newRouted(t)
	*at = holderAt("a", 3)
	x.to = func(context.Context, string, Request) (Reply, error) { return Refuse(ErrOverloaded), nil }
	if _, err := m.Call(t.Context(), "id", ""); !errors.Is(err, ErrOverloaded) || len(f.forgot) > 0 {
		t.Errorf("%v; forgot %v", err, f.forgot)
	}
}
