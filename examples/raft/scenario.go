// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/examples/raft/node"
)

// report is the report of the scenario.
type report struct {
	first, second, healed core.Status // leaders
}

// putLimit is how long a put may take before it is repeated.
const putLimit = 2 * time.Second

// scenario runs the steps on a cluster.
type scenario struct {
	*cluster
	context context.Context
	out     io.Writer
	begun   time.Time // the present step
}

// runScenario: n nodes elect a leader, lose it, elect another one, and take the first one back.
func runScenario(ctx context.Context, n int, out io.Writer) (r report, err error) {
	s := &scenario{context: ctx, out: out, begun: time.Now()}
	s.printf("%d nodes on 127.0.0.1: election timeouts of 150 ms to 300 ms, heartbeats every 50 ms", n)
	if s.cluster, err = startCluster(n); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if r.first, err = s.awaitElection("elected for the first time"); err != nil {
		return r, err
	}
	if err := s.writeAndCheck("color", "blue"); err != nil {
		return r, err
	}
	if r.second, err = s.loseLeader(r.first); err != nil {
		return r, err
	}
	r.healed, err = s.heal(r.first.ID)
	return r, err
}

// loseLeader kills the leader, and returns the next one.
func (s *scenario) loseLeader(leader core.Status) (core.Status, error) {
	s.begun = time.Now()
	if err := s.kill(leader.ID); err != nil {
		return core.Status{}, err
	}
	s.printf("node %d is killed", leader.ID)
	next, err := s.awaitElection("elected after the kill")
	if err != nil {
		return next, err
	}
	return next, errors.Join(s.check("color", "blue"), s.writeAndCheck("color", "green"))
}

// heal starts the killed node again, and checks that it catches up without an election.
func (s *scenario) heal(id uint64) (core.Status, error) {
	s.begun = time.Now()
	if err := s.start(id); err != nil {
		return core.Status{}, err
	}
	s.printf("node %d is started again", id)
	leader, err := s.awaitElection("followed by all again")
	if err != nil {
		return leader, err
	}
	return leader, s.check("color", "green")
}

// awaitElection waits until all running nodes follow a leader.
func (s *scenario) awaitElection(what string) (core.Status, error) {
	leader, err := s.board.awaitLeader(s.context, len(s.nodes))
	if err == nil {
		s.printf("node %d leads term %d, %s: %v", leader.ID, leader.Term, what, s.elapsed())
	}
	return leader, err
}

// writeAndCheck sets a key at one node, and checks it at all.
func (s *scenario) writeAndCheck(key, value string) error {
	s.begun = time.Now()
	if err := s.put(key, value); err != nil {
		return err
	}
	s.printf("%s is set to %s through node %d: %v", key, value, s.running()[0].Status().ID, s.elapsed())
	return s.check(key, value)
}

// put sets a key, and repeats that if a leader is lost: nothing else sets the key.
func (s *scenario) put(key, value string) error {
	for {
		ctx, cancel := context.WithTimeout(s.context, putLimit)
		err := s.running()[0].Put(ctx, key, value)
		cancel()
		if !errors.Is(err, node.ErrOutcomeUnknown) || s.context.Err() != nil {
			return err
		}
	}
}

// check reads a key at all nodes that run.
func (s *scenario) check(key, value string) error {
	s.begun = time.Now()
	for _, n := range s.running() {
		if err := s.checkAt(n, key, value); err != nil {
			return err
		}
	}
	s.printf("%s reads %s at each of %d nodes: %v", key, value, len(s.nodes), s.elapsed())
	return nil
}

func (s *scenario) checkAt(n *node.Node, key, value string) error {
	got, found, err := n.Get(s.context, key)
	if err == nil && (!found || got != value) {
		err = fmt.Errorf("node %d reads %s as %q (found: %v), want %q", n.Status().ID, key, got, found, value)
	}
	return err
}

func (s *scenario) printf(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

func (s *scenario) elapsed() time.Duration { return time.Since(s.begun).Round(100 * time.Microsecond) }
