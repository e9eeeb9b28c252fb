// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

// onEngines runs a test on the engine as it is, and on the hostile one, which
// retries everything, loses acknowledgements and answers late.
func onEngines(t *testing.T, test func(t *testing.T, db kv.Database)) {
	t.Run("plain", func(t *testing.T) { test(t, enginetest.Open(t)) })
	t.Run("hostile", func(t *testing.T) { test(t, faults.HostileT(t, enginetest.Open(t))) })
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// mustDir is must for what most calls return.
func mustDir(t testing.TB) func(*directory.Directory, error) *directory.Directory {
	return must[*directory.Directory](t)
}

func transact(t testing.TB, db kv.Transactor, fn func(kv.Transaction) error) {
	t.Helper()
	if err := db.Transact(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func path(elements ...string) []string { return elements }

func subspace(t testing.TB, d *directory.Directory) tuple.Subspace {
	t.Helper()
	return must[tuple.Subspace](t)(d.Subspace())
}

func wantPrefix(t testing.TB, want, got *directory.Directory) {
	t.Helper()
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("another directory (-want +got):\n%s", diff)
	}
}
