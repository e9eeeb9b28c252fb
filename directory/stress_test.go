// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// TestCacheStress lets writers with caches of their own write to directories
// that others remove, move and create again all the time. Each directory
// holds its path under the key "home", which the transaction that moves it
// changes. Every attempt of a transaction must find the path that it asked
// for, and no key may end outside a directory.
func TestCacheStress(t *testing.T) {
	for _, layer := range []string{"", directory.Partition} {
		t.Run(fmt.Sprintf("parent %q", layer), func(t *testing.T) {
			onEngines(t, func(t *testing.T, db kv.Database) {
				s := &stress{t: t, db: db, seed: seed.Of(t), layer: layer}
				err := parallel(6, func(i int) error {
					if i < 2 {
						return s.disturb(rand.New(rand.NewPCG(s.seed, uint64(i))))
					}
					return s.write(rand.New(rand.NewPCG(s.seed, uint64(i))))
				})
				if err != nil {
					t.Fatal(err)
				}
				readDump(t, db, directory.Options{}).checkSound(t)
				if s.writes.Load() == 0 || s.disturbed.Load() == 0 {
					t.Errorf("%d writes, %d disturbances: nothing was tested", s.writes.Load(), s.disturbed.Load())
				}
			})
		})
	}
}

type stress struct {
	t                 *testing.T
	db                kv.Database
	seed              uint64
	layer             string
	writes, disturbed atomic.Int64
}

// Each goroutine does stressRounds rounds. Where one kind was faster than the
// other could begin, it goes on until both have met.
const (
	stressRounds = 120
	mostRounds   = 1000 * stressRounds
)

func (s *stress) more(round int) bool {
	return round < stressRounds || round < mostRounds && (s.writes.Load() == 0 || s.disturbed.Load() == 0)
}

func stressPath(rng *rand.Rand) []string {
	return path(fmt.Sprint("p", rng.IntN(2)), fmt.Sprint("d", rng.IntN(3)))
}

func homeOf(p []string) string { return fmt.Sprint(p) }

// write opens directories by a cache and writes into them.
func (s *stress) write(rng *rand.Rand) error {
	ctx := context.Background()
	cache := newCache(s.t, s.db, directory.CacheOptions{MaxEntries: 5})
	for round := 0; s.more(round); round++ {
		p, create := stressPath(rng), rng.IntN(4) == 0
		entry := rng.Uint64()
		err := s.db.Transact(ctx, func(tx kv.Transaction) error {
			d, err := s.open(ctx, tx, cache, p, create)
			if err != nil {
				return err
			}
			space, err := d.Subspace()
			if err != nil {
				return err
			}
			home, err := tx.Get(space.Sub("home").Bytes()).Get(ctx)
			if err != nil {
				return err
			}
			if home == nil {
				tx.Set(space.Sub("home").Bytes(), []byte(homeOf(p)))
			} else if string(home) != homeOf(p) {
				return fmt.Errorf("asked for %s, opened %s", homeOf(p), home)
			}
			tx.Set(space.Sub("entry", int64(entry>>1)).Bytes(), nil)
			return nil
		})
		switch {
		case errors.Is(err, directory.ErrNotFound) && !create:
			continue
		case err != nil:
			return err
		}
		s.writes.Add(1)
	}
	return nil
}

func (s *stress) open(ctx context.Context, tx kv.Transaction, cache *directory.Cache, p []string, create bool) (*directory.Directory, error) {
	if create {
		return cache.CreateOrOpen(ctx, tx, p, directory.ElementAs(0, s.layer))
	}
	return cache.Open(ctx, tx, p)
}

// disturb moves and removes directories.
func (s *stress) disturb(rng *rand.Rand) error {
	ctx, root := context.Background(), directory.Root()
	for round := 0; s.more(round); round++ {
		from, to := stressPath(rng), stressPath(rng)
		kind := rng.IntN(8)
		err := s.db.Transact(ctx, func(tx kv.Transaction) error {
			switch kind {
			case 0, 1, 2:
				return root.Remove(ctx, tx, from)
			case 3:
				return root.Remove(ctx, tx, from[:1])
			}
			d, err := root.Move(ctx, tx, from, to)
			if err != nil {
				return err
			}
			space, err := d.Subspace()
			if err != nil {
				return err
			}
			tx.Set(space.Sub("home").Bytes(), []byte(homeOf(to)))
			return nil
		})
		switch {
		case err == nil:
			s.disturbed.Add(1)
		case !isOrdinary(err):
			return err
		}
	}
	return nil
}

// isOrdinary reports whether an error tells only that the others were faster.
func isOrdinary(err error) bool {
	for _, state := range []error{
		directory.ErrNotFound, directory.ErrExists, directory.ErrMoveIntoSelf, directory.ErrBetweenPartitions,
	} {
		if errors.Is(err, state) {
			return true
		}
	}
	return false
}
