// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// tally is an actor that reads its count in one transaction, and writes the next one blindly in
// another.
type tally struct {
	db     kv.Database // under the fence
	count  byte
	loaded bool
	middle func() // called between the two
	panics bool   // with the error of the second one
}

func (t *tally) add(ctx context.Context, _ struct{}) (int, error) {
	if !t.loaded {
		stored, err := kv.ReadTransact(ctx, t.db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get([]byte("tally")).Get(ctx) })
		if err != nil {
			return 0, err
		}
		t.count = 0
		if len(stored) > 0 {
			t.count = stored[0]
		}
	}
	t.middle()
	t.count++
	err := t.db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("tally"), []byte{t.count})
		return nil
	})
	if t.panics && err != nil {
		panic(err)
	}
	t.loaded = err == nil
	return int(t.count), err
}

// TestAbandonedCommitDoesNotLandLater: the context of a call ends during the commit, which hangs.
// The next call reads the old count; then the commit lands. The next call must not overwrite
// it: two calls would have one count.
func TestAbandonedCommitDoesNotLandLater(t *testing.T) {
	for name, panics := range map[string]bool{"returned": false, "a panic": true} {
		t.Run(name, func(t *testing.T) { testAbandonedCommit(t, panics) })
	}
}

func testAbandonedCommit(t *testing.T, panics bool) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
		engine := enginetest.InProcess(t)
		lossy, middle := &enginetest.Lossy{Database: engine}, func() {}
		h, err := host.New(engine, host.Options{Name: "a", Transport: hosttest.NewNetwork().Listen("a")})
		if err != nil {
			t.Fatal(err)
		}
		opened := 0
		kind, kindErr := host.Register(h, "tally", func(_ context.Context, a *host.Activation) (*tally, error) {
			opened++
			return &tally{db: a.Fence().Under(lossy), middle: func() { middle() }, panics: panics}, nil
		})
		add, addErr := host.Handle(kind, "add", (*tally).add)
		if err := errors.Join(kindErr, addErr, h.Start(t.Context())); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		land := lossy.Interrupt(cancel)
		if _, err := add.Call(ctx, "x", struct{}{}); !errors.Is(err, kv.ErrOutcomeUnknown) && !errors.Is(err, context.Canceled) {
			t.Errorf("the interrupted call: %v", err)
		}
		var landed error
		middle = func() { landed = land() }
		if got, err := add.Call(t.Context(), "x", struct{}{}); err != nil || got != 1 || !kv.IsConflict(landed) {
			t.Errorf("the next call: %d, %v; the commit that landed in it: %v, want a conflict", got, err, landed)
		}
		if opened != 2 {
			t.Errorf("%d activations, want another one after the unknown outcome", opened)
		}
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestCalleesUnknownOutcome: the callee of an activation returns an error of an unknown outcome,
// or panics with it, and the activation returns it in turn. The callee ends. The activation, which has
// committed nothing, goes on, and so does one with a call that has not reached its callee.
func TestCalleesUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))
		h, err := host.New(enginetest.InProcess(t), host.Options{Name: "a", Transport: hosttest.NewNetwork().Listen("a")})
		if err != nil {
			t.Fatal(err)
		}
		callers, callees := 0, 0
		account, err1 := host.Register(h, "account", func(context.Context, *host.Activation) (*int, error) { callees++; return new(int), nil })
		pay, err2 := host.Handle(account, "pay", func(_ *int, _ context.Context, how string) (int, error) {
			switch how {
			case "coded":
				return 0, kv.NewError(kv.CodeCommitUnknownResult, "")
			case "panic":
				panic(kv.ErrOutcomeUnknown)
			}
			return 0, kv.ErrOutcomeUnknown
		})
		room, err3 := host.Register(h, "room", func(context.Context, *host.Activation) (*int, error) { callers++; return new(int), nil })
		say, err4 := host.Handle(room, "say", func(_ *int, ctx context.Context, how string) (int, error) {
			if how == "not handled" {
				return 0, &host.CallError{Method: "pay", Err: kv.ErrOutcomeUnknown}
			}
			return pay.Call(ctx, "x", how)
		})
		if err := errors.Join(err1, err2, err3, err4, h.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"bare", "coded", "panic", "not handled", "bare"} {
			if _, err := say.Call(t.Context(), "r", how); !kv.IsOutcomeUnknown(err) {
				t.Errorf("%s: %v, want an unknown outcome", how, err)
			}
			synctest.Wait()
		}
		if callers != 1 || callees != 4 {
			t.Errorf("%d activations of the caller and %d of the callee, want 1 and 4", callers, callees)
		}
		if err := h.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
