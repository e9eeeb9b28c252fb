// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/internal/shell/shelltest"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestLogOfRefusedRequests checks that texts which are refused for their length do not fill
// the log.
func TestLogOfRefusedRequests(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	l := loggingProvider{provider, slog.New(slog.NewTextHandler(&text, nil))}
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
	if _, err := (loggingProvider{listed, l.log}).Acquire(t.Context(), unknown); err == nil || text.Len() > 500 || !strings.Contains(text.String(), "made-up") {
		t.Errorf("a service that there is not: %v, logged %d bytes: %.300s", err, text.Len(), text.String())
	}
	text.Reset()
	if err := l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: long, ID: 1}); err == nil || text.Len() == 0 || text.Len() > 500 {
		t.Errorf("release: %v, logged %d bytes", err, text.Len())
	}
	text.Reset()
	small := memory.Options{Server: lease.Options{MaxLeases: 1, Default: lease.ServiceConfig{Layout: idgen.Layout{CustomEpochMs: idgen.DefaultCustomEpochMs, BitReserve: 20, BitTs: 41, BitID: 2, BitSeq: 1}}}}
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

// TestServerLogsHostileText serves a client whose description is hostile.
func TestServerLogsHostileText(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var text bytes.Buffer
		c := &shell.Console{Streams: shell.Streams{Err: shell.Escaping(&text, &asJSON)}, JSON: asJSON}
		l := loggingProvider{provider, c.Logger()}
		for _, req := range []idgen.AcquireRequest{
			{Meta: map[string]string{shelltest.Evil: shelltest.Evil}}, {ServiceID: shelltest.Evil}, {ServiceID: "a", Meta: map[string]string{"host": "b"}},
		} {
			_, _ = l.Acquire(t.Context(), req)
			_ = l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: req.ServiceID, ID: 1, BitSeq: 8})
		}
		shelltest.CheckHarmless(t, []string{"logs", fmt.Sprint(asJSON)}, text.String(), asJSON)
	}
}

// TestLogOfHolders: a holder's description cannot look like that of another holder.
func TestLogOfHolders(t *testing.T) {
	meta := map[string]string{"host": "a task:b", "n": "1"}
	for _, test := range []struct {
		json bool
		want string
	}{{false, `holder="host=\"a task:b\" n=1"`}, {true, `"holder":{"host":"a task:b","n":"1"}`}} {
		var text bytes.Buffer
		c := &shell.Console{Streams: shell.Streams{Err: shell.Escaping(&text, &test.json)}, JSON: test.json}
		c.Logger().Info("granted", "holder", holder(meta))
		if !strings.Contains(text.String(), test.want) {
			t.Errorf("logged %s, want %s", &text, test.want)
		}
	}
}
