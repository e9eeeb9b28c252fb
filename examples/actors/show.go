// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// options are the values of the flags.
type options struct {
	accounts, tellers int
	duration, lease   time.Duration
}

func (o options) validate() error {
	var faults []error
	if o.accounts < 2 || o.accounts > 100_000 {
		faults = append(faults, fmt.Errorf("-accounts is %d, must be 2 to 100,000", o.accounts))
	}
	if o.tellers < 1 || o.tellers > 1000 {
		faults = append(faults, fmt.Errorf("-tellers is %d, must be 1 to 1,000", o.tellers))
	}
	if o.lease < 100*time.Millisecond || o.lease > time.Minute {
		faults = append(faults, fmt.Errorf("-lease is %v, must be 100 ms to a minute", o.lease))
	}
	if o.duration < time.Second {
		faults = append(faults, fmt.Errorf("-duration is %v, must be a second or more", o.duration))
	}
	return errors.Join(faults...)
}

// show is one run of the program.
type show struct {
	options
	out    io.Writer
	engine kv.Database
	db     *persistable.DB
	ledger ledger
	place  place

	members *membership.Registry
	tellers *tellers
	events  chan process.Event // of banks
	banks   map[string]*process.Process
	told    reportCounts
	began   time.Time
}

func newShow(out io.Writer, engine kv.Database, db *persistable.DB, o options) (*show, error) {
	s := &show{
		options: o, out: out, engine: engine, db: db, tellers: &tellers{},
		events: make(chan process.Event), banks: map[string]*process.Process{}, began: time.Now(),
		told: reportCounts{counts: map[fact]int{}, changed: make(chan struct{})},
	}
	go s.told.countReports(s.events)
	var err error
	s.members, err = membership.New(engine, membership.Options{Duration: o.lease})
	return s, err
}

// run moves money on an engine that banks find at a place, and audits the accounts.
func run(ctx context.Context, out io.Writer, engine kv.Database, p place, o options) (err error) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := newShow(out, engine, db, o)
	if err != nil {
		return err
	}
	defer close(s.events)
	s.place = p
	if s.ledger, err = openLedger(ctx, engine); err != nil {
		return err
	}
	if err := s.openAccounts(ctx); err != nil {
		return err
	}
	err = s.moveMoney(ctx)
	s.endAll()
	if err != nil {
		return err
	}
	return s.auditAccounts(ctx)
}

// printLine writes a line with the time, and how many transfers were made until then.
func (s *show) printLine(format string, args ...any) {
	fmt.Fprintf(s.out, "%5.1f s  %6d transfers  %s\n", time.Since(s.began).Seconds(), s.tellers.doneCount(), fmt.Sprintf(format, args...))
}

// moveMoney starts the banks, and makes transfers while they are killed, suspended and ended.
func (s *show) moveMoney(ctx context.Context) (err error) {
	for _, name := range bankNames {
		if err := s.startNamed(name); err != nil {
			return err
		}
	}
	client, err := newClient(ctx, s.engine, s.lease)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Stop(context.WithoutCancel(ctx))) }()
	if s.tellers, err = newTellers(client, s.db.IDs(), accountNames(s.accounts)); err != nil {
		return err
	}
	if err := s.finishOpen(ctx); err != nil {
		return err
	}
	working, stop := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, s.duration+10*time.Minute)
	defer cancel()
	go func() { working <- s.tellers.workTogether(ctx, s.options.tellers, stop) }()
	err = s.disturbBanks(ctx)
	close(stop)
	return errors.Join(err, <-working)
}

// disturbBanks kills a bank, suspends another, and ends the third in order, each while the others
// work.
func (s *show) disturbBanks(ctx context.Context) error {
	steps := []func(context.Context) error{s.awaitAll, s.killSecond, s.restartSecond}
	if process.CanPause {
		steps = append(steps, s.suspendThird, s.resumeThird)
	}
	for _, step := range append(steps, s.endInOrder) {
		if err := step(ctx); err != nil {
			return err
		}
		pause(ctx, s.duration/time.Duration(len(steps)+3))
	}
	return nil
}
