// SPDX-License-Identifier: Apache-2.0

//go:build unix

package protoactor_test

import (
	"strings"
	"testing"
	"time"
)

const (
	accounts = 40
	// duration is that of a member's lease. It is long enough that processes renew it on a
	// machine that is busy with other tests.
	duration = 3 * time.Second
	// bound is how long the test waits for what must happen: much longer than until the lease
	// of a member has lapsed that was killed, and the others know.
	bound = 2 * time.Minute
)

// TestMembers runs three members and a client on loopback, each a process of its own.
// One member is killed, another suspended until the third has taken over, a killed one
// starts again, and one leaves. All requests are answered; each operation counts
// once, and no operation of an epoch comes after one of a later epoch.
func TestMembers(t *testing.T) {
	w := newWorld(t)
	a, b, c, client := w.startAll()
	w.askAll(t, a, b, c, client)
	w.activeOnce(t, a, b, c)

	w.claimBehind(t, c)
	for i := range 10 {
		if err := w.askOne(a, strayID(i), time.Now().Add(bound)); err != nil {
			t.Errorf("an account of which %s has a claim that it does not know of: %v", c.name, err)
		}
	}

	found, err := a.ask(Question{auditKind, "books", "look", bound})
	if err != nil || found.Member != c.name {
		t.Errorf("the kind that only %s has: %+v, %v", c.name, found, err)
	}

	late, answers := w.beginLate(t, b)
	pause(t, b)
	a.kill()
	begin := time.Now()
	w.askAll(t, c, client)
	t.Logf("all %d accounts answered %.1f s after a kill and a suspension; leases last %v", accounts, time.Since(begin).Seconds(), duration)
	w.activeOnce(t, c)
	resume(t, b)
	if err := <-answers; err == nil || !isLost(err.Error()) {
		t.Errorf("an operation of %s, which another member took over: %v", late, err)
	}
	if cause := ended(t, b); !strings.Contains(cause, "lost") {
		t.Errorf("the node that was suspended ended with %q", cause)
	}
	if found := b.active(t); len(found) > 0 {
		t.Errorf("a lost member has %d activations", len(found))
	}

	again := w.start(memberConfig{Name: a.name, Kinds: []string{accountKind}, Foreign: true, IdleAfter: duration})
	w.askUntilMoved(t, again, c, client)
	c.client.Go("Member.Shutdown", 0, new(int), nil) // which takes seconds longer than the hand-over
	w.askAll(t, again, client)
	if cause := ended(t, c); !strings.Contains(cause, "shut down") {
		t.Errorf("the node that left ended with %q", cause)
	}
	if found := c.active(t); len(found) > 0 {
		t.Errorf("a member that has left has %d activations", len(found))
	}
	if claims := w.claims(t, c.name); len(claims) > 0 {
		t.Errorf("a member that has left has the claims of %q", claims)
	}
	w.askAll(t, again, client)
	w.activeOnce(t, again)
	w.checkAccounts(t)
	w.passivate(t, again)
}
