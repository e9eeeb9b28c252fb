// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/rolling"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestMain makes the test's program a bank where show asks for one.
func TestMain(m *testing.M) {
	if isBank() {
		b := newBank()
		b.stall(os.Getenv(stallVariable))
		if os.Getenv(unfencedVariable) != "" {
			b.unfence()
		}
		exitOn(b.serveAccounts(context.Background(), os.Stdin, os.Stdout))
		os.Exit(0)
	}
	process.Program = rolling.Any
	os.Exit(m.Run())
}

var short = options{accounts: 30, tellers: 4, lease: time.Second, duration: time.Second}

// TestShow runs the program twice on one folder.
func TestShow(t *testing.T) {
	t.Parallel()
	dir, runs := t.TempDir(), 2
	if testing.Short() {
		runs = 1
	}
	for i := range runs {
		said := checkShow(t, func(ctx context.Context, out io.Writer) error { return start(ctx, out, dir, "", short) })
		if half := strings.Contains(said, "has left 1 transfers half done"); half != (i > 0) {
			t.Errorf("run %d finishes a transfer: %v", i+1, half)
		}
		leaveHalf(t, dir)
	}
}

// leaveHalf does the first half of a transfer, as a run leaves it that is killed.
func leaveHalf(t *testing.T, dir string) {
	ctx := t.Context()
	engine, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := openLedger(ctx, engine)
	if err != nil {
		t.Fatal(err)
	}
	var last entry
	if err := l.each(ctx, engine, 1000, func(e entry) { last = e }); err != nil {
		t.Fatal(err)
	}
	account, err := AccountStoreOf(db).ByName(ctx, last.Account)
	if err != nil {
		t.Fatal(err)
	}
	transfer := NewTransfer(Transfer{From: account.Name, To: "00000", Amount: 1, State: Open})
	err = db.Transact(ctx, func(tx persistable.Tx) error {
		account.Balance = last.Balance - 1
		l.append(tx.KV(), entry{account.Name, last.Owner, last.Epoch, transfer.ID, -1, account.Balance})
		return errors.Join(TransferStoreOf(db).In(tx).Create(ctx, transfer), AccountStoreOf(db).In(tx).Save(ctx, account))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// On the engine that layers are tested on: a cluster, if there is one.
func TestShowOnEngine(t *testing.T) {
	if !enginetest.Cluster {
		return // TestShow has shown it
	}
	if rolling.On() { // each process opens the cluster, by the engine of its version
		checkShow(t, func(ctx context.Context, out io.Writer) error {
			return start(ctx, out, "", os.Getenv("FDB_CLUSTER_FILE"), short)
		})
		return
	}
	engine := enginetest.Open(t)
	checkShow(t, func(ctx context.Context, out io.Writer) error { return serveAndRun(ctx, out, engine, short) })
}

// checkShow runs the program, which audits itself, and reads what it says.
func checkShow(t *testing.T, run func(context.Context, io.Writer) error) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	var out strings.Builder
	if err := run(ctx, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`30 accounts on 3 processes`, `kill -9 of bank-2`, `the others know after`, `bank-2 is back`,
		`SIGSTOP of bank-3`, `SIGCONT of bank-3`, `another incarnation`, `bank-1 was ended in order`, `\d+ accounts had several owners`,
		`the sum is 30000 as before`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the program does not say %q", want)
		}
	}
	t.Log("\n" + out.String())
	return out.String()
}

func TestValidate(t *testing.T) {
	err := start(t.Context(), io.Discard, t.TempDir(), "", options{})
	for _, want := range []string{"-accounts is 0", "-tellers is 0", "-lease is 0", "-duration is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
