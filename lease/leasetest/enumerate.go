// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// testEnumerate checks that a store tells which services it knows, where it can.
func testEnumerate(f *fixture) {
	store := f.Open(f.T, f.name)
	server, err := lease.NewServer(store, fresh())
	if err != nil {
		f.Fatal(err)
	}
	list := func(after string, limit int) []string {
		f.Helper()
		ids, err := server.Services(f.Context(), after, limit)
		if err != nil {
			f.Fatal(err)
		}
		return ids
	}
	if _, ok := store.(lease.Enumerator); !ok {
		if _, err := server.Services(f.Context(), "", 0); !errors.Is(err, errors.ErrUnsupported) {
			f.Errorf("a store that cannot: %v", err)
		}
		return
	}
	if got := list("", 0); len(got) != 0 {
		f.Errorf("an empty store knows %q", got)
	}
	want := []string{"a", "a.b", "a/b:c", "b", "default"}
	for _, id := range []string{"b", "a/b:c", "", "a", "a.b", "b"} {
		if _, err := server.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: id}); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := server.List(f.Context(), "c", lease.ListOptions{}); err != nil {
		f.Fatal(err)
	}
	for i := range want {
		for limit := 1; limit <= len(want)+1; limit++ {
			after := ""
			if i > 0 {
				after = want[i-1]
			}
			if got := list(after, limit); !slices.Equal(got, want[i:min(i+limit, len(want))]) {
				f.Errorf("%d behind %q: got %q of %q", limit, after, got, want)
			}
		}
	}
	if _, err := server.Services(f.Context(), "", -1); !errors.Is(err, lease.ErrInvalid) {
		f.Errorf("a limit of -1: %v", err)
	}
}
