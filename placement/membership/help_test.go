// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement/membership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, enginetest.Leaks()...) }

var ctx = context.Background()

// duration is that of the leases of the tests in virtual time.
const duration = membership.DefaultDuration

// latency bounds what a transaction and a watch take in virtual time: nothing on the
// plain engine, some milliseconds on the hostile one.
const latency = 100 * time.Millisecond

// inVirtualTime runs a test on the engine as it is and on the hostile one, where waiting
// takes no time.
func inVirtualTime(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, enginetest.InProcess(t)) })
	})
	t.Run("hostile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, faults.HostileT(t, enginetest.InProcess(t))) })
	})
}

// hostile reports whether inVirtualTime runs a test on the hostile engine, where each transaction
// costs more.
func hostile(t testing.TB) bool { return strings.Contains(t.Name(), "/hostile") }

func open(t testing.TB, db kv.Database) *membership.Registry {
	t.Helper()
	return must[*membership.Registry](t)(membership.New(db, membership.Options{}))
}

// join makes a member that leaves when the test ends.
func join(t testing.TB, db kv.Database, name string) *membership.Member {
	t.Helper()
	m := must[*membership.Member](t)(open(t, db).Join(ctx, membership.Self{Name: name, Address: name + ":80", Kinds: []string{"account"}}))
	t.Cleanup(func() { leave(m) })
	return m
}

// leave lets a member leave, which may be cut off.
func leave(m *membership.Member) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = m.Leave(ctx)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func wantError(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}
