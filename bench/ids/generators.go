// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/idgen"
)

const (
	batch = 256 // IDs of an operation
	burst = 2048

	// wide is a throughput that no caller here reaches, so that the contests measure the work of
	// generators, and not the number of IDs in a millisecond.
	wide = 1 << 18
)

var errRepeated = errors.New("the same id twice")

// generators is every generator from one thread, and from four.
var generators = measure.Stage{Name: "next", Open: func(string) (*measure.Set, error) {
	own, err := newOwnGenerators()
	if err != nil {
		return nil, err
	}
	peers, err := newPeers()
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	set := &measure.Set{Close: own.Close}
	for _, procs := range []int{1, 4} {
		set.Contests = append(set.Contests, sustained(procs, own, peers), batches(procs, own))
	}
	set.Contests = append(set.Contests, bursts(own))
	return set, nil
}}

// sustained makes IDs without a pause.
func sustained(procs int, own *ownGenerators, peers *peers) measure.Contest {
	c := measure.Contest{
		Name:    fmt.Sprintf("next-%d", procs),
		About:   fmt.Sprintf("an ID after the other, not sequence-bound, %s", threads(procs)),
		Latency: true, Each: batch, Procs: procs,
		Entrants: []measure.Entrant{
			entrant("kazahana, managed", own.wide.Next),
			within(1.3, procs == 1, repeat("time.Now", func() { _ = time.Now() })),
			faster(1.8, procs == 4, entrant("bwmarrin/snowflake, 21 bits of sequence", peers.bwmarrinWide)),
			entrant("kazahana, managed, defaults", own.defaults.Next),
			entrant("kazahana, standalone", own.standalone.Next),
			entrant("bwmarrin/snowflake", peers.bwmarrin),
			entrant("sony/sonyflake/v2, 21 bits of sequence, 1 ms", peers.sonyflakeWide),
			entrant("sony/sonyflake/v2", peers.sonyflake),
			entrant("rs/xid", peers.xid),
			entrant("oklog/ulid", peers.ulid),
			entrant("kazahana's ULID", own.ulids.Next),
			entrant("google/uuid v7", peers.uuidV7),
			pooled(entrant("google/uuid v7, with its pool of random bytes", peers.uuidV7)),
			entrant("kazahana's UUIDv7", own.uuids.Next),
		},
	}
	for i := range c.Entrants {
		c.Entrants[i].Goroutines = procs
	}
	return c
}

func threads(n int) string {
	if n == 1 {
		return "one thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// within sets the budget: the first entrant takes at most so many times as long
// as e.
func within(times float64, judged bool, e measure.Entrant) measure.Entrant {
	if judged {
		e.Least = 1 / times
	}
	return e
}

// faster sets the budget: the first entrant is at least so many times as fast as e.
func faster(times float64, judged bool, e measure.Entrant) measure.Entrant {
	if judged {
		e.Least = times
	}
	return e
}

// entrant makes a batch of IDs, each of which differs from the one before.
func entrant[T comparable](name string, next func(context.Context) (T, error)) measure.Entrant {
	ctx := context.Background()
	return measure.Entrant{Name: name, Elastic: true, Op: func(*measure.Worker) error {
		var last T
		for range batch {
			id, err := next(ctx)
			if err != nil {
				return err
			}
			if id == last {
				return errRepeated
			}
			last = id
		}
		return nil
	}}
}

// repeat does something a batch of times.
func repeat(name string, do func()) measure.Entrant {
	return measure.Entrant{Name: name, Elastic: true, Op: func(*measure.Worker) error {
		for range batch {
			do()
		}
		return nil
	}}
}

// bursts makes IDs with default options: 2,048 of the 4,096 of a millisecond at its beginning,
// and then none until the next one begins. Only the burst is timed.
func bursts(own *ownGenerators) measure.Contest {
	ctx := context.Background()
	return measure.Contest{
		Name: "burst-1", About: "2,048 IDs at the beginning of a millisecond, defaults, one thread",
		Latency: true, Each: burst, Procs: 1,
		Entrants: []measure.Entrant{
			bursting("kazahana, managed, defaults", func() error {
				var last idgen.ID
				for range burst {
					id, err := own.defaults.Next(ctx)
					if err != nil {
						return err
					}
					if id <= last {
						return errRepeated
					}
					last = id
				}
				return nil
			}),
			within(1.3, true, bursting("time.Now", func() error {
				for range burst {
					_ = time.Now()
				}
				return nil
			})),
		},
	}
}

// bursting waits for a millisecond to begin, which is not timed.
func bursting(name string, do func() error) measure.Entrant {
	return measure.Entrant{Name: name, Elastic: true, Op: func(w *measure.Worker) error {
		begin := time.Now()
		now := begin
		for now.UnixMilli() == begin.UnixMilli() {
			now = time.Now()
		}
		w.Idle += now.Sub(begin)
		return do()
	}}
}

// batches makes 64 IDs at a time.
func batches(procs int, own *ownGenerators) measure.Contest {
	ctx := context.Background()
	return measure.Contest{
		Name: fmt.Sprintf("nextn-%d", procs), About: fmt.Sprintf("NextN of 64 IDs, not sequence-bound, %s", threads(procs)),
		Latency: true, Each: batch, Procs: procs,
		Entrants: []measure.Entrant{{
			Name: "kazahana, managed, NextN(64)", Goroutines: procs, Elastic: true,
			Op: func(*measure.Worker) error {
				var ids [64]idgen.ID
				for range batch / len(ids) {
					if _, err := own.wide.NextN(ctx, ids[:]); err != nil {
						return err
					}
					if ids[0] == 0 || ids[0] >= ids[63] {
						return errRepeated
					}
				}
				return nil
			},
		}},
		Fixed: []measure.FixedRate{{Name: "10 ns", Rate: 1e8, Least: 1}},
	}
}
