// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// The times of the election: short, so that a reader need not wait.
const (
	duration        = time.Second
	electionTimeout = 300 * time.Millisecond
)

// The variables that make a process a worker.
const (
	workerVariable  = "ELECTION_WORKER" // its name
	addressVariable = "ELECTION_ADDRESS"
	clusterVariable = "ELECTION_CLUSTER_FILE"
)

// place is where workers find the database: a variable and its value.
type place struct{ variable, value string }

func clusterPlace(file string) place   { return place{clusterVariable, file} }
func remotePlace(address string) place { return place{addressVariable, address} }

func isWorker() bool { return os.Getenv(workerVariable) != "" }

// work takes part in the election until its input ends; a line "resign" on that ends a
// term. It tells on out what happens.
func work(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	db, err := openAsWorker()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	name := os.Getenv(workerVariable)
	e, err := election.New(db, "example", election.Options{Candidate: name, Duration: duration, ElectionTimeout: electionTimeout})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go obey(in, e, stop)
	log, err := openLog(ctx, db)
	if err != nil {
		return err
	}
	w := worker{name: name, db: db, log: log, out: out}
	if err := e.Run(ctx, w.lead); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func openAsWorker() (kv.Database, error) {
	if file := os.Getenv(clusterVariable); file != "" {
		return fdbkv.Open(file)
	}
	return remote.Dial(os.Getenv(addressVariable))
}

// obey follows what the first process says, and stops with it.
func obey(in io.Reader, e *election.Election, stop func()) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if lines.Text() == "resign" {
			e.Resign()
		}
	}
	stop()
}

// worker is a process that takes part in the election.
type worker struct {
	name string
	db   kv.Database
	log  log
	out  io.Writer
}

// lead writes to the log for as long as the term lasts. It is a careless leader: when it learns
// that it was deposed, it writes once more. Under the term that does no harm.
func (w worker) lead(ctx context.Context, term election.Term) error {
	w.tell("leads", fmt.Sprint(term.Rank()))
	db := term.Under(w.db)
	for {
		cause := context.Cause(ctx)
		if cause != nil && !errors.Is(cause, election.ErrDeposed) {
			return cause
		}
		if err := w.log.append(context.WithoutCancel(ctx), db, entry{term.Rank(), w.name}); err != nil {
			w.tell("refused", err.Error())
			return err
		}
		w.tell("wrote", fmt.Sprint(term.Rank()))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// tell tells the first process what happens, in one line.
func (w worker) tell(what, details string) {
	fmt.Fprintln(w.out, what, strings.ReplaceAll(details, "\n", " "))
}
