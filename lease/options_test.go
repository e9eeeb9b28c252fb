// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestDefaultConfig pins the specification's DEFAULT_CONFIG, section 6.4.
func TestDefaultConfig(t *testing.T) {
	want := idgen.Layout{CustomEpochMs: 1767225600000, BitReserve: 1, BitTs: 41, BitID: 14, BitSeq: 8}
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
	long.BitTs = 42
	bad := lease.Options{
		Default: lease.ServiceConfig{Layout: long, Duration: time.Millisecond},
		Services: map[string]lease.ServiceConfig{
			"a b": {},
			"c":   {Duration: time.Second + time.Microsecond},
		},
		Quarantine: -1, MaxThroughputPerMs: -1, MaxLeases: 65,
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"they must total 64", "the duration is 1ms", `service id "a b"`, `service "c": lease: the duration is 1.000001s`, "the quarantine is -1ns", "MaxThroughputPerMs is -1", "MaxLeases is 65"} {
		if strings.Count(err.Error(), want) != 1 {
			t.Errorf("%q is not once in\n%v", want, err)
		}
	}
	if server, err := lease.NewServer(nil, bad); err == nil || server != nil {
		t.Error("a server with wrong options is made")
	}
}
