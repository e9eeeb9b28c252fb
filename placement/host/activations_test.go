// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestActivationsModel does at random to the table what a map does.
func TestActivationsModel(t *testing.T) {
	random := seed.Rand(t)
	as, model := newActivations(&kind{name: "kind"}, nil), make(map[string]*Activation)
	for range 20_000 {
		id, epoch := fmt.Sprint(random.IntN(500)), random.Int64N(5)
		switch random.IntN(3) {
		case 0:
			was := model[id]
			a, older, made := as.add(id, epoch)
			if made != (was == nil || was.epoch < epoch) || made && older != was || !made && a != was {
				t.Fatalf("add %s under %d: %v, %v, %v, was %v", id, epoch, a, older, made, was)
			}
			model[id] = a
		case 1:
			if a := model[id]; a != nil {
				delete(model, id)
				as.remove(a)
				as.remove(a) // again
			}
		default:
			want := model[id]
			if want != nil && epoch != 0 && want.epoch != epoch {
				want = nil
			}
			if got := as.find(id, epoch); got != want {
				t.Fatalf("find %s under %d: %v, want %v", id, epoch, got, want)
			}
		}
		if as.len() != len(model) {
			t.Fatalf("%d activations, want %d", as.len(), len(model))
		}
	}
}

// A million activations are to take little memory.
func TestActivationsAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(Activation{}); size > 80 {
		t.Errorf("an activation has %d bytes", size)
	}
	s := newScript()
	register, method := s.register(t)
	_, session, _ := newFake(t, Options{}, register)
	a := session.activate(t, "actor", "x", 1)
	if _, err := (*method).Call(t.Context(), "x", ""); err != nil {
		t.Fatal(err)
	}
	for { // until its goroutine is done
		a.mu.Lock()
		running, more := a.running, a.more
		a.mu.Unlock()
		if !running {
			if more != nil {
				t.Errorf("an idle activation keeps %+v", more)
			}
			return
		}
	}
}
