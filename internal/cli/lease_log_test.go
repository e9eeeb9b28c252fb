// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestLogOfRefusedRequests checks that what is refused for its length does not
// fill the log.
func TestLogOfRefusedRequests(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	l := logged{provider, slog.New(slog.NewTextHandler(&text, nil))}
	long := strings.Repeat("x", 10_000)
	for _, req := range []idgen.AcquireRequest{
		{Meta: map[string]string{"host": long}}, {Meta: map[string]string{long: ""}}, {ServiceID: long}, {RequestKey: long},
	} {
		text.Reset()
		if leases, err := l.Acquire(t.Context(), req); err == nil {
			t.Fatalf("granted %+v", leases)
		}
		if n := text.Len(); n == 0 || n > 500 || !strings.Contains(text.String(), "refused") {
			t.Errorf("%d bytes are logged: %.300s", n, text.String())
		}
	}
	listed, err := memory.New(memory.Options{Server: lease.Options{OnlyListed: true}})
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	unknown := idgen.AcquireRequest{ServiceID: "made-up", Meta: map[string]string{"host": long}}
	if _, err := (logged{listed, l.log}).Acquire(t.Context(), unknown); err == nil || text.Len() > 500 || !strings.Contains(text.String(), "made-up") {
		t.Errorf("a service that there is not: %v, logged %d bytes: %.300s", err, text.Len(), text.String())
	}
	text.Reset()
	if err := l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: long, ID: 1}); err == nil || text.Len() == 0 || text.Len() > 500 {
		t.Errorf("release: %v, logged %d bytes", err, text.Len())
	}
	text.Reset()
	small := memory.Options{Server: lease.Options{MaxLeases: 1, Default: lease.ServiceConfig{Layout: idgen.Layout{EpochMs: idgen.DefaultEpochMs, BitReserve: 20, BitTs: 41, BitID: 2, BitSeq: 1}}}}
	if provider, err = memory.New(small); err != nil {
		t.Fatal(err)
	}
	l.LeaseProvider = provider
	req := idgen.AcquireRequest{ThroughputPerMs: 4, Meta: map[string]string{"host": "a-host"}}
	if leases, err := l.Acquire(t.Context(), req); err == nil {
		t.Fatalf("granted %+v", leases)
	}
	if !strings.Contains(text.String(), "a-host") {
		t.Errorf("a refusal for lack of room does not name the holder: %s", text.String())
	}
}
