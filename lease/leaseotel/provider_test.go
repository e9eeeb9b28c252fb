// SPDX-License-Identifier: Apache-2.0

package leaseotel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leaseotel"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// answers is a provider that answers as it is told.
type answers struct {
	leases []idgen.Lease
	err    error
}

func (a *answers) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return a.leases, a.err
}
func (a *answers) Release(context.Context, idgen.ReleaseRequest) error { return a.err }

// instrument returns a counted provider over next and what reads the counts.
func instrument(t *testing.T, next idgen.LeaseProvider) (idgen.LeaseProvider, func() map[string]int64) {
	t.Helper()
	reader := sdk.NewManualReader()
	p, err := leaseotel.Instrument(next, sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	return p, func() map[string]int64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		return counts(t, all)
	}
}

// counts returns counters, and how many times a histogram has.
func counts(t *testing.T, all metricdata.ResourceMetrics) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	add := func(name string, attributes attribute.Set, n int64) {
		got[name+"{"+attributes.Encoded(attribute.DefaultEncoder())+"}"] = n
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			default:
				t.Fatalf("%s is a %T", m.Name, data)
			}
		}
	}
	return got
}

func TestCounts(t *testing.T) {
	next := &answers{leases: make([]idgen.Lease, 3)}
	p, read := instrument(t, next)
	leases, err := p.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "payments"})
	if len(leases) != 3 || err != nil {
		t.Errorf("%d leases, %v", len(leases), err)
	}
	if err := p.Release(t.Context(), idgen.ReleaseRequest{}); err != nil {
		t.Error(err)
	}
	next.leases, next.err = nil, &refusal.ExhaustedError{ServiceID: "payments"}
	if _, err := p.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "payments"}); !errors.Is(err, lease.ErrExhausted) {
		t.Errorf("the provider's error became %v", err)
	}
	if err := p.Release(t.Context(), idgen.ReleaseRequest{ServiceID: "payments"}); !errors.Is(err, lease.ErrExhausted) {
		t.Errorf("the provider's error became %v", err)
	}
	want := map[string]int64{
		"kazahana.lease.granted{kazahana.service=payments}":                                                  3,
		"kazahana.lease.released{kazahana.service=default}":                                                  1,
		"kazahana.lease.refused{error.type=exhausted,kazahana.service=payments}":                             1,
		"kazahana.lease.unreleased{error.type=exhausted,kazahana.service=payments}":                          1,
		"kazahana.lease.duration{kazahana.operation=acquire,kazahana.service=payments}":                      1,
		"kazahana.lease.duration{kazahana.operation=release,kazahana.service=default}":                       1,
		"kazahana.lease.duration{error.type=exhausted,kazahana.operation=acquire,kazahana.service=payments}": 1,
		"kazahana.lease.duration{error.type=exhausted,kazahana.operation=release,kazahana.service=payments}": 1,
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// TestReasons checks the word of every error, wrapped as servers and clients do.
func TestReasons(t *testing.T) {
	for word, cause := range map[string]error{
		"exhausted":         &refusal.ExhaustedError{},
		"quarantine":        &refusal.QuarantineError{},
		"epoch":             &refusal.EpochMismatchError{},
		"corrupt":           &refusal.CorruptError{Cause: errors.New("cut off")},
		"not_found":         lease.ErrNotFound,
		"signature":         lease.ErrSignature,
		"expired_timestamp": lease.ErrExpiredTimestamp,
		"last_ts":           lease.ErrLastTs,
		"clock":             &refusal.TimeRangeError{},
		"canceled":          context.DeadlineExceeded,
		"store":             errors.New("no route to host"),
	} {
		p, read := instrument(t, &answers{err: fmt.Errorf("wrapped: %w", cause)})
		_, _ = p.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "a"})
		if name := "kazahana.lease.refused{error.type=" + word + ",kazahana.service=a}"; read()[name] != 1 {
			t.Errorf("%v: %v; want %s", cause, read(), name)
		}
	}
}

// TestMadeUpServicesAreNotAttributes checks that a caller cannot make the
// telemetry grow by asking for services that there are not.
func TestMadeUpServicesAreNotAttributes(t *testing.T) {
	for word, cause := range map[string]error{"invalid": lease.ErrInvalid, "unknown_service": lease.ErrUnknownService} {
		p, read := instrument(t, &answers{err: fmt.Errorf("wrapped: %w", cause)})
		for i := range 10 {
			_, _ = p.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: fmt.Sprint("made up ", i)})
		}
		if name := "kazahana.lease.refused{error.type=" + word + "}"; read()[name] != 10 {
			t.Errorf("%v; want 10 of %s", read(), name)
		}
	}
}

// TestListsPassThrough: a lease server over a counted provider serves lists where the provider has them.
func TestListsPassThrough(t *testing.T) {
	home, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for next, lists := range map[idgen.LeaseProvider]bool{home: true, &answers{}: false} {
		counted, _ := instrument(t, next)
		if _, listed := counted.(interface {
			List(context.Context, string, lease.ListOptions) (lease.Page, error)
			Services(context.Context, string, int) ([]string, error)
		}); listed != lists {
			t.Errorf("%T: lists leases and services: %v; want %v", next, listed, lists)
		}
	}
}
