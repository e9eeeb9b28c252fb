// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

var update = flag.Bool("update", false, "write what the program says into testdata")

// TestRunTwice runs the program twice on one folder, as its comment says.
func TestRunTwice(t *testing.T) {
	dir := t.TempDir()
	checkDays(t, func(out io.Writer) error { return start(t.Context(), out, dir, "") })
}

// On the engine that layers are tested on: a cluster, if there is one.
func TestDays(t *testing.T) {
	engine := enginetest.Open(t)
	checkDays(t, func(out io.Writer) error { return run(t.Context(), out, engine) })
}

// On an engine that retries everything, loses acknowledgements and wakes watches for nothing, the
// program says the same: each letter is written once.
func TestHostileEngine(t *testing.T) {
	engine := faults.HostileT(t, enginetest.Open(t))
	checkDays(t, func(out io.Writer) error { return run(t.Context(), out, engine) })
}

// checkDays runs the program twice and compares what it says with testdata.
func checkDays(t *testing.T, run func(io.Writer) error) {
	t.Helper()
	for i, name := range []string{"first.txt", "second.txt"} {
		var out strings.Builder
		if err := run(&out); err != nil {
			t.Fatalf("run %d: %v\n%s", i+1, err, out.String())
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("run %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// Two mailers at once, each on an engine that loses acknowledgements, write one letter for each order.
func TestTwoMailers(t *testing.T) {
	const n = 20
	engine := faults.HostileT(t, enginetest.Open(t))
	db, err := persistable.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := openShop(db, "tea", io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mailers sync.WaitGroup
	for range 2 {
		mailers.Go(func() {
			if err := s.writeLetters(ctx); ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for i := range n {
		if _, err := s.order(ctx, "ada@example.com", int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	ada, err := s.customers.ByEmail(ctx, "ada@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.awaitLetters(ctx, ada.ID, n); err != nil {
		t.Fatal(err)
	}
	stop()
	mailers.Wait()
	checkLetters(t, s, n)
}

// checkLetters checks that there is one letter for each of n orders, and that the customer's summary agrees.
func checkLetters(t *testing.T, s *shop, n int) {
	t.Helper()
	letters := map[string]int{}
	for letter, err := range s.letters.Scan().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		letters[letter.Text]++
	}
	want := map[string]int{}
	for i := range n {
		want[fmt.Sprintf("Your order %d is placed.", 1001+i)] = 1
	}
	if diff := cmp.Diff(want, letters); diff != "" {
		t.Errorf("letters (-want +got):\n%s", diff)
	}
	if ada, err := s.customers.ByEmail(t.Context(), "ada@example.com"); err != nil || ada.Letters != int64(n) {
		t.Errorf("the summary of letters: %+v (%v), want %d", ada, err, n)
	}
}
