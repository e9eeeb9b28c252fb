// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSuspendedMachine: while a machine is suspended its monotonic clock stands still and
// its wall clock goes on. Either clock ends the validity.
func TestSuspendedMachine(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Second)
	for name, c := range map[string]struct {
		k     *answerInfo
		valid bool
	}{
		"nothing known":       {nil, false},
		"both go on":          {&answerInfo{until: later, wall: later.UnixNano()}, true},
		"ended":               {&answerInfo{until: now, wall: now.UnixNano()}, false},
		"suspended":           {&answerInfo{until: later, wall: now.UnixNano()}, false},
		"wall clock set back": {&answerInfo{until: now, wall: later.UnixNano()}, false},
	} {
		if c.k.isValid(now) != c.valid {
			t.Errorf("%s: valid is %v", name, !c.valid)
		}
	}
}

// TestAnswerThatExpired: a goroutine that reads an answer after its validity does not
// use it.
func TestAnswerThatExpired(t *testing.T) {
	w := &Watch{options: Options{}.withDefaults(), life: t.Context()}
	p := &poll{done: make(chan struct{}), known: &answerInfo{until: time.Now()}}
	close(p.done)
	if _, err := w.awaitPoll(t.Context(), p); !errors.Is(err, ErrLate) {
		t.Errorf("the error is %v, want ErrLate", err)
	}
}

// TestAnswerAfterClose: an answer that comes after Close is not remembered.
func TestAnswerAfterClose(t *testing.T) {
	w := &Watch{options: Options{}.withDefaults()}
	w.life, w.stop = context.WithCancel(t.Context())
	w.Close()
	w.rememberRevision(1, time.Now())
	if _, err := w.Current(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the error is %v, want ErrClosed", err)
	}
}

// TestLaterCallWins: of the answers of two overlapping calls, the watch remembers that of
// the call that began later, in whichever order the answers come.
func TestLaterCallWins(t *testing.T) {
	now := time.Now()
	for _, begun := range [][]time.Time{{now, now.Add(-time.Millisecond)}, {now.Add(-time.Millisecond), now}} {
		w := &Watch{options: Options{}.withDefaults(), life: t.Context()}
		for _, b := range begun {
			w.rememberRevision(b.UnixNano(), b)
		}
		if got := w.known.Load().revision; got != now.UnixNano() {
			t.Errorf("the answer of the earlier call is remembered")
		}
	}
}
