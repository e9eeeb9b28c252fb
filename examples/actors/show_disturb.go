// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/examples/internal/process"
)

// bankNames are the names of the processes. The first is ended in order, the second killed, the
// third suspended.
var bankNames = []string{"bank-1", "bank-2", "bank-3"}

func (s *show) startNamed(name string) (err error) {
	s.banks[name], err = startBank(name, s.place, s.lease, s.events)
	return err
}

// startBank starts a bank.
func startBank(name string, p place, lease time.Duration, events chan<- process.Event, env ...string) (*process.Process, error) {
	return process.Start(name, append(env, bankVariable+"="+name, leaseVariable+"="+lease.String(), p.String()), events)
}

// awaitAll waits until all banks are members.
func (s *show) awaitAll(ctx context.Context) error {
	if err := s.awaitMembers(ctx, bankNames...); err != nil {
		return err
	}
	s.printLine("%d accounts on %d processes; a member is dead when it was not heard of for %v", s.accounts, len(bankNames), s.lease)
	return nil
}

// killSecond kills the second bank, and waits until the others know.
func (s *show) killSecond(ctx context.Context) error {
	began := time.Now()
	if err := s.banks["bank-2"].Kill(); err != nil {
		return err
	}
	s.printLine("kill -9 of bank-2: its accounts do not answer until the others know that it is dead")
	if err := s.awaitMembers(ctx, "bank-1", "bank-3"); err != nil {
		return err
	}
	s.printLine("the others know after %v; from now on its accounts become active there when they are called", since(began))
	return nil
}

func (s *show) restartSecond(ctx context.Context) error {
	if err := s.startNamed("bank-2"); err != nil {
		return err
	}
	if err := s.awaitMembers(ctx, bankNames...); err != nil {
		return err
	}
	s.printLine("bank-2 is back: a third of the accounts belongs to it, and each moves there when it is called next")
	return nil
}

// suspendThird suspends the third bank until the others have taken over.
func (s *show) suspendThird(ctx context.Context) error {
	began := time.Now()
	if err := s.banks["bank-3"].Pause(); err != nil {
		return err
	}
	s.printLine("SIGSTOP of bank-3: it stands still in the middle of what it does")
	if err := s.awaitMembers(ctx, "bank-1", "bank-2"); err != nil {
		return err
	}
	s.printLine("the others take it for dead after %v, and take over its accounts", since(began))
	return nil
}

// resumeThird resumes the third bank, which does not know that its accounts have other owners.
func (s *show) resumeThird(ctx context.Context) error {
	if err := s.banks["bank-3"].Resume(); err != nil {
		return err
	}
	s.printLine("SIGCONT of bank-3: it goes on with what it did")
	if err := s.awaitMembers(ctx, bankNames...); err != nil {
		return err
	}
	refused, _ := s.told.countOf(fact{"bank-3", "refused"})
	s.printLine("it has found out, and is a member again, as another incarnation; %d of its writes were refused by the fence", refused)
	return nil
}

// endInOrder ends the first bank as a deployment does.
func (s *show) endInOrder(ctx context.Context) error {
	began := time.Now()
	s.banks["bank-1"].End()
	select {
	case <-s.banks["bank-1"].Ended():
		s.printLine("bank-1 was ended in order: it has handed back its accounts and left within %v", since(began))
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bank-1 does not end: %w", context.Cause(ctx))
	}
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }

// endAll ends all banks and waits for them.
func (s *show) endAll() {
	for _, bank := range s.banks {
		_ = bank.Resume() // it may be suspended; resuming fails where suspending is not possible
		bank.End()
	}
	for _, bank := range s.banks {
		bank.Await(nil, 10*s.lease)
	}
	clear(s.banks)
}
