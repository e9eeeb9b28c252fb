// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestDefaultConfig pins the specification's DEFAULT_CONFIG, section 6.4.
func TestDefaultConfig(t *testing.T) {
	want := idgen.Layout{CustomEpoch: 1767225600000, ReserveBits: 1, TimestampBits: 41, MachineBits: 14, SequenceBits: 8}
	if idgen.DefaultLayout() != want || lease.DefaultDuration != 10*time.Minute || lease.DefaultService != "default" {
		t.Errorf("got %+v, %v, %q", idgen.DefaultLayout(), lease.DefaultDuration, lease.DefaultService)
	}
	if err := (lease.Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

// TestNewStore leases from a store that is empty, and not said to be new: the error
// says what to do before it says anything else, and that works once for good, for a
// service that was asked for and for one that was not.
func TestNewStore(t *testing.T) {
	server, err := lease.NewServer(memory.NewStore(nil), lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "orders"})
	if !errors.Is(err, lease.ErrQuarantine) || !regexp.MustCompile(`in quarantine: if the store of service "orders" is new, .* run "kazahana lease quarantine --end"`).MatchString(err.Error()) {
		t.Errorf("got %v; want a QuarantineError that begins with what to do", err)
	}
	for _, service := range []string{"orders", "payments", ""} {
		if err := server.EndQuarantine(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := server.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service}); err != nil {
				t.Errorf("service %q: %v", service, err)
			}
		}
	}
}

// TestOptionsValidate checks that every fault is reported, each once.
func TestOptionsValidate(t *testing.T) {
	long := idgen.DefaultLayout()
	long.TimestampBits = 42
	bad := lease.Options{
		Default: lease.ServiceConfig{Layout: long, Duration: time.Millisecond},
		Services: map[string]lease.ServiceConfig{
			"a b": {},
			"c":   {Duration: time.Second + time.Microsecond},
		},
		Quarantine: -1, MaxThroughput: -1, MaxLeases: 65,
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"they must total 64", "the duration is 1ms", `service id "a b"`, `service "c": lease: the duration is 1.000001s`, "the quarantine is -1ns", "MaxThroughput is -1", "MaxLeases is 65"} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q is not once in\n%v", want, err)
		}
	}
	if server, err := lease.NewServer(nil, bad); err == nil || server != nil {
		t.Error("a server with wrong options is made")
	}
}

// TestAcquireReads counts the reads of an acquisition while none, half and all of
// the 8192 machine ids are taken: a few round trips in any case, as often as not
// the same.
func TestAcquireReads(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1)
	var reads atomic.Int64
	store := leasetest.CountReads(memory.NewStore(func() time.Time { return now }), &reads)
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	count := func(throughput int) (int64, error) {
		reads.Store(0)
		_, err := server.Acquire(t.Context(), idgen.AcquireRequest{Throughput: throughput, RequestKey: "key"})
		return reads.Load(), err
	}
	for taken := 0; taken < 8192; taken++ {
		reads.Store(0)
		if _, err := server.Acquire(t.Context(), idgen.AcquireRequest{}); err != nil {
			t.Fatalf("with %d taken: %v", taken, err)
		}
		if n := reads.Load(); n > 5 {
			t.Fatalf("with %d taken: %d reads, want at most 5", taken, n)
		}
	}
	if n, err := count(1); !errors.Is(err, lease.ErrExhausted) || n > 12 {
		t.Errorf("with all taken: %d reads, want at most 12; %v", n, err)
	}
	if n, err := count(4096); !errors.Is(err, lease.ErrExhausted) || n > 40 {
		t.Errorf("4096 positions with all taken: %d reads, want at most 40; %v", n, err)
	}
	now = now.Add(time.Hour)
	if n, err := count(1); err != nil || n > 6 {
		t.Errorf("with all free again: %d reads, want at most 6; %v", n, err)
	}
	if n, err := count(1); err != nil || n > 2 {
		t.Errorf("repeated: %d reads, want at most 2; %v", n, err)
	}
	reads.Store(0)
	if leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{Throughput: 4096}); err != nil || len(leases) != 1 || reads.Load() > 12 {
		t.Errorf("16 blocks merged: %d leases, %d reads, want 1 and at most 12; %v", len(leases), reads.Load(), err)
	}
}

// TestFirstMachineIsRandom: the services of two databases seldom begin with the same
// machine id; a plain service begins with the first.
func TestFirstMachineIsRandom(t *testing.T) {
	first := func(plain bool) int64 {
		server, err := lease.NewServer(memory.NewStore(nil), lease.Options{Fresh: true, Default: lease.ServiceConfig{Plain: plain}})
		if err != nil {
			t.Fatal(err)
		}
		leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return leases[0].ID
	}
	machines := map[int64]bool{}
	for range 64 {
		machines[first(false)] = true
	}
	if len(machines) < 32 {
		t.Errorf("64 services began with %d machine ids: %v", len(machines), machines)
	}
	if id := first(true); id != 0 {
		t.Errorf("a plain service began with machine %d", id)
	}
}

// TestReadsOfMadeUpServices fills a store with services: to refuse one more takes
// a look at all of them, and then none for a second.
func TestReadsOfMadeUpServices(t *testing.T) {
	now := time.UnixMilli(idgen.DefaultCustomEpoch + 1)
	var reads atomic.Int64
	store := leasetest.CountReads(memory.NewStore(func() time.Time { return now }), &reads)
	const most = 40
	server, err := lease.NewServer(store, lease.Options{Fresh: true, MaxServices: most})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(service string) (int64, error) {
		reads.Store(0)
		_, err := server.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service})
		return reads.Load(), err
	}
	for i := range most {
		if _, err := acquire(fmt.Sprint("service", i)); err != nil {
			t.Fatal(err)
		}
	}
	for second := range 3 {
		if n, err := acquire(fmt.Sprint("first", second)); !errors.Is(err, lease.ErrTooManyServices) || n < most || n > most+4 {
			t.Errorf("one too many: %d reads, %v", n, err)
		}
		for i := range 20 {
			if n, err := acquire(fmt.Sprint("more", i)); !errors.Is(err, lease.ErrTooManyServices) || n > 2 {
				t.Errorf("a moment later: %d reads, %v", n, err)
			}
		}
		now = now.Add(time.Second)
	}
	now = now.Add(time.Hour)
	if _, err := acquire("later"); err != nil {
		t.Errorf("when the others hold nothing: %v", err)
	}
}

// TestLogOfUnreadableRows: blocks that cannot be read are logged once a minute, with their number and the keys of
// the first ones, however many acquisitions meet them.
func TestLogOfUnreadableRows(t *testing.T) { synctest.Test(t, testLogOfUnreadableRows) }

func testLogOfUnreadableRows(t *testing.T) {
	var log bytes.Buffer
	layout := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 5, SequenceBits: 2}
	begun, now := time.Now(), time.UnixMilli(idgen.DefaultCustomEpoch+1)
	store := memory.NewStore(func() time.Time { return now.Add(time.Since(begun)) })
	server, err := lease.NewServer(store, lease.Options{
		Fresh: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Default: lease.ServiceConfig{Layout: layout, Plain: true}, Monotonic: func() time.Duration { return time.Since(begun) },
	})
	if err != nil {
		t.Fatal(err)
	}
	const machines = 16
	acquire := func() error {
		time.Sleep(10 * time.Millisecond)
		leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{Throughput: 4})
		if err != nil {
			return err
		}
		l := leases[0]
		return server.Release(t.Context(), l.Release("", l.Created, time.UnixMilli(l.Created)))
	}
	for range machines {
		if err := acquire(); err != nil {
			t.Fatal(err)
		}
	}
	// An acquisition reads blocks in random order until one is free. Here none is, so that each meets all rows.
	refused := func(times int) string {
		log.Reset()
		for range times {
			if err := acquire(); !errors.As(err, new(*refusal.ExhaustedError)) {
				t.Fatalf("acquire with nothing left: %v", err)
			}
		}
		return log.String()
	}
	err = store.Update(t.Context(), lease.DefaultService, func(tx lease.Tx) error {
		for i := range machines {
			tx.Set(binary.BigEndian.AppendUint32([]byte("b"), uint32(4*i)), []byte("damaged"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := refused(9); strings.Count(text, "\n") != 1 || strings.Count(text, "corrupt record") != 4 || !strings.Contains(text, "service=default rows=16 transactions=1 ") {
		t.Errorf("9 acquisitions log %s", text)
	}
	time.Sleep(time.Minute)
	if text := refused(2); strings.Count(text, "\n") != 1 || !strings.Contains(text, " transactions=9 ") {
		t.Errorf("a minute later they log %s", text)
	}
}
