// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/rolling"
)

// TestMain makes the test's program a worker where show asks for one.
func TestMain(m *testing.M) {
	if isWorker() {
		main()
		os.Exit(0)
	}
	process.Program = rolling.Any
	os.Exit(m.Run())
}

// TestShow runs the program twice on one folder: the second run goes on with the ranks of the
// first.
func TestShow(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		checkShow(t, func(ctx context.Context, out io.Writer) error { return start(ctx, out, dir, "") })
	}
}

// On the engine that layers are tested on: a cluster, if there is one.
func TestShowOnEngine(t *testing.T) {
	if !enginetest.Cluster {
		return // TestShow has shown it
	}
	if rolling.On() { // each process opens the cluster, by the engine of its version
		checkShow(t, func(ctx context.Context, out io.Writer) error {
			return start(ctx, out, "", os.Getenv("FDB_CLUSTER_FILE"))
		})
		return
	}
	engine := enginetest.Open(t)
	checkShow(t, func(ctx context.Context, out io.Writer) error { return serveAndRun(ctx, out, engine) })
}

// checkShow runs the program, which waits for events and checks its log, and reads what it
// says.
func checkShow(t *testing.T, run func(context.Context, io.Writer) error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`^. leads after`, `kill -9 of .: . leads after`, `. resigns: . leads after`,
		`SIGSTOP of .: . leads after`, `SIGCONT of .: it goes on writing, and is refused: leasefdb: the lease is lost`,
		`The log has \d+ entries`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(out.String()) {
			t.Errorf("the program does not say %q", want)
		}
	}
	t.Log("\n" + out.String())
}

// TestCheckOrder checks that the example notices terms that interleave.
func TestCheckOrder(t *testing.T) {
	for text, wrong := range map[string]bool{"1": false, "1 1 2 2 5": false, "1 2 1": true, "2 1": true} {
		var all []entry
		for _, field := range strings.Fields(text) {
			e := entry{name: "a"}
			if _, err := fmt.Sscan(field, &e.rank); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		if err := checkOrder(all); (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
}
