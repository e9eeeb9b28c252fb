// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

func exampleLease() idgen.Lease {
	return idgen.Lease{
		ID: 5, Created: idgen.DefaultCustomEpoch + 1000, Expired: idgen.DefaultCustomEpoch + 601000, Secret: "s",
		CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 14, SequenceBits: 8,
	}
}

// TestLeaseJSON pins the names of the specification's section 4.2.
func TestLeaseJSON(t *testing.T) {
	got, err := json.Marshal(exampleLease())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":5,"created":1767225601000,"expired":1767226201000,"secret":"s","customEpoch":1767225600000,"bitReserve":1,"bitTs":41,"bitId":14,"bitSeq":8}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaseValidateReportsAllFaults(t *testing.T) {
	l := exampleLease()
	if err := l.Validate(); err != nil {
		t.Fatalf("a sound lease: %v", err)
	}
	l.ID, l.Created, l.Expired, l.Secret = 8192, idgen.DefaultCustomEpoch, idgen.DefaultCustomEpoch, ""
	err := l.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"0 to 8191", "not after the epoch", "not after its beginning", "no secret"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	for _, end := range []int64{l.Layout().Last().UnixMilli() + 2, math.MaxInt64} { // so far that sums with it overflow
		l = exampleLease()
		l.Expired = end
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "after the last millisecond") {
			t.Errorf("until %d: %v", end, err)
		}
	}
	l = exampleLease()
	l.TimestampBits = 42
	if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "total 64") {
		t.Errorf("65 bits: %v", err)
	}
}

// TestReleaseSignatureBindsEverything changes each field of a signed request.
func TestReleaseSignatureBindsEverything(t *testing.T) {
	l := exampleLease()
	signed := l.Release("payments", l.Created+7, time.UnixMilli(l.Created+9))
	if !signed.Verify(l.Secret) {
		t.Fatal("a sound signature is refused")
	}
	for name, forge := range map[string]func(*idgen.ReleaseRequest){
		"service":   func(r *idgen.ReleaseRequest) { r.ServiceID = "other" },
		"id":        func(r *idgen.ReleaseRequest) { r.ID++ },
		"bitSeq":    func(r *idgen.ReleaseRequest) { r.SequenceBits++ },
		"created":   func(r *idgen.ReleaseRequest) { r.Created++ },
		"lastTs":    func(r *idgen.ReleaseRequest) { r.LastTs-- },
		"timestamp": func(r *idgen.ReleaseRequest) { r.Timestamp++ },
		"signature": func(r *idgen.ReleaseRequest) { r.Signature = strings.ToUpper(r.Signature) },
		"none":      func(r *idgen.ReleaseRequest) { r.Signature = "" },
	} {
		forged := signed
		if forge(&forged); forged.Verify(l.Secret) {
			t.Errorf("%s: a forged request is accepted", name)
		}
	}
	if signed.Verify("another secret") {
		t.Error("another secret is accepted")
	}
}

// TestLiteralSignature compares signatures with the specification's, section 4.5,
// which were computed by openssl.
func TestLiteralSignature(t *testing.T) {
	const want = "a4eb4dc9f3ae58d7f1d43d1ebadff44f3632e2a84c32c1b605ec16cc373d3c31"
	l := exampleLease()
	l.ID, l.Secret = 7, "abc"
	signed := l.Release("payments", l.Created+7, time.UnixMilli(1767225601000))
	if signed.LiteralSignature != want || signed.IsLiteral() || !signed.Verify(l.Secret) {
		t.Errorf("signed %+v", signed)
	}
	received := idgen.ReleaseRequest{ServiceID: "payments", ID: 7, Timestamp: 1767225601000, Signature: want}
	if !received.IsLiteral() || received.Sign(l.Secret) != want || !received.Verify(l.Secret) || received.Verify("abcd") {
		t.Errorf("the specification's own release is refused: %+v", received)
	}
	received.ServiceID = ""
	if got := signed.Literal(); got != received {
		t.Errorf("made %+v, want %+v", got, received)
	}
	if received.Timestamp++; received.Verify(l.Secret) {
		t.Error("another timestamp is accepted")
	}
}

// TestLeasedPositionsAreThoseOfTheProvider lets clients grow until the space is
// full, which it is at far fewer leases than there are machine ids: what they
// count together is what the provider lacks.
func TestLeasedPositionsAreThoseOfTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		layout := idgen.Layout{CustomEpoch: 1, ReserveBits: 8, TimestampBits: 41, MachineBits: 7, SequenceBits: 8} // 64 machine ids of 256, 2^14 positions
		provider := idgen.Must(memory.New(memory.Options{Server: lease.Options{Logger: quiet, Default: lease.ServiceConfig{Layout: layout}}}))
		var clients []*idgen.Client
		for range 3 {
			c := idgen.Must(idgen.NewClient(idgen.Options{Provider: provider, Layout: layout, Logger: quiet}))
			clients = append(clients, c)
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			batch := make([]idgen.ID, 4096)
			for range 6 {
				_, _ = c.NextN(impatient, batch) // all of this millisecond
				time.Sleep(time.Minute)
			}
			if m := c.Metrics(); m.LeasedThroughput < 4096 {
				t.Errorf("a client that was busy has leased %d positions, want 4096", m.LeasedThroughput)
			}
			total, leases := 0, 0
			for _, c := range clients {
				m := c.Metrics()
				total, leases = total+m.LeasedThroughput, leases+m.ActiveLeases
			}
			if got := positions(t, provider); got != total {
				t.Errorf("%d clients have leased %d positions, the provider says %d", len(clients), total, got)
			}
			if 4*leases > len(clients)*64/2 {
				t.Errorf("%d leases: the space would be full by their number", leases)
			}
		}
		for _, c := range clients {
			if err := c.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if m := c.Metrics(); m.LeasedThroughput != 0 {
				t.Errorf("after its shutdown a client has leased %d positions", m.LeasedThroughput)
			}
		}
	})
}

// positions returns how many positions are leased.
func positions(t *testing.T, provider *lease.Server) (total int) {
	t.Helper()
	page, err := provider.List(t.Context(), "", lease.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range page.Leases {
		total += 1 << l.SequenceBits
	}
	return total
}

// TestJumpOfTheClockThatLeasesGoBy sets the clock of a process to another year,
// or minutes ahead, and back. The process leases from a store that goes by the same clock, as
// programs do that lease from their own database: the leases do not confirm the
// wrong time. IDs go on, leased and of the right year, and the client works on
// when the clock is right again.
func TestJumpOfTheClockThatLeasesGoBy(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, test := range []struct{ far, wrong time.Duration }{
		{year, time.Second},
		{year, time.Minute},
		{year, 3 * time.Hour},
		{6 * time.Second, 5 * time.Second},
		{5 * time.Minute, time.Second},
		{5 * time.Minute, 4 * time.Minute},
		{9 * time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, quiet := time.Now(), slog.New(slog.DiscardHandler)
			var shift atomic.Int64
			right := func() time.Time { return time.UnixMilli(idgen.DefaultCustomEpoch).Add(year + time.Since(begin)) }
			now := func() time.Time { return right().Add(time.Duration(shift.Load())) }
			mono := func() time.Duration { return time.Since(begin) }
			provider := idgen.Must(memory.New(memory.Options{Now: now, Server: lease.Options{Monotonic: mono, Logger: quiet}}))
			ids := idgen.Must(idgen.NewClient(idgen.Options{Provider: provider, Now: now, Logger: quiet}.WithMonotonic(mono)))
			last := idgen.ID(0)
			next := func(what string) {
				t.Helper()
				id, err := ids.Next(t.Context())
				if err != nil || id <= last || id.IsFallback() || id.Time().Sub(right()).Abs() > time.Second {
					t.Fatalf("%v ahead for %v, %s: Next = %d of %v (fallback %v), %v after %d; want a leased ID of %v", test.far, test.wrong, what, id, id.Time(), id.IsFallback(), err, last, right())
				}
				last = id
			}
			next("at first")
			for range 3 {
				shift.Store(int64(test.far))
				for range 50 {
					time.Sleep(test.wrong / 50)
					next("while the clock is wrong")
				}
				shift.Store(0)
				for range 50 {
					time.Sleep(time.Minute)
					next("when the clock is right again")
				}
			}
			if err := ids.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if page, err := provider.List(t.Context(), "", lease.ListOptions{}); err != nil || len(page.Leases) > 3 { // those abandoned
				t.Errorf("%d leases are active in the end, %v", len(page.Leases), err)
			}
		})
	}
}
