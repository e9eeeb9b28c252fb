// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/kvstore"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// Memory returns an initialised store in memory, which lives until the test ends.
func Memory(tb testing.TB) store.Store {
	tb.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := kvstore.New(db, kvstore.Options{})
	if err == nil {
		err = s.Init(tb.Context())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Dump returns the documents of kinds as text, a line for each: kind, key, type, when it
// expires, and value. Without a type, or if it does not expire, there is a hyphen.
func Dump(tb testing.TB, s store.Store, kinds ...store.Kind) string {
	tb.Helper()
	var b strings.Builder
	for _, kind := range kinds {
		all, err := s.List(tb.Context(), kind, store.ListOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range all {
			expires := "-"
			if !d.Expires.IsZero() {
				expires = d.Expires.UTC().Format(time.RFC3339Nano)
			}
			fmt.Fprintf(&b, "%s %s %s %s %s\n", kind, d.Key, cmp.Or(d.Type, "-"), expires, d.Value)
		}
	}
	return b.String()
}

// Load stores the documents that Dump has listed.
func Load(tb testing.TB, s store.Store, dumped string) {
	tb.Helper()
	for line := range strings.Lines(dumped) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(parts) != 5 {
			tb.Fatalf("%q lists no document", line)
		}
		d := store.Document{Key: parts[1], Type: strings.TrimPrefix(parts[2], "-"), Value: []byte(parts[4])}
		var err error
		if parts[3] != "-" {
			d.Expires, err = time.Parse(time.RFC3339Nano, parts[3])
		}
		if err == nil {
			_, err = s.Put(tb.Context(), store.Kind(parts[0]), d)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}
