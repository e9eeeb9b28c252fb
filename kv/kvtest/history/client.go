// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// clients run random transactions at once and note when each attempt of one
// began and ended, by one clock that counts.
type clients struct {
	ctx   context.Context
	db    kv.Database
	seed  uint64
	clock atomic.Int64
}

func (c *clients) now() int { return int(c.clock.Add(1)) }

// outcome is what a client knows of an attempt to commit.
type outcome int

const (
	committed outcome = iota
	failed            // certainly not committed
	unknown           // perhaps committed
)

// lifetime is when an attempt ran and how it ended. An attempt that ended before
// another began precedes it.
type lifetime struct {
	began, ended int
	outcome      outcome
}

// start removes all keys and runs work in goroutines, each with a source of
// chance of its own.
func (c *clients) start(goroutines int, work func(*rand.Rand) error) error {
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		tx.ClearRange(model.UserKeys())
		return nil
	})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, goroutines)
	for g := range goroutines {
		group.Go(func() { failures[g] = work(rand.New(rand.NewPCG(c.seed, uint64(g)))) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// transaction runs fn until it commits and tells note of every attempt.
func (c *clients) transaction(fn func(kv.Transaction) error, note func(lifetime)) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Cancel()
	for {
		life, err := c.attempt(tx, fn)
		note(life)
		if err == nil {
			return nil
		}
		if err := tx.OnError(c.ctx, err); err != nil {
			return err
		}
	}
}

func (c *clients) attempt(tx kv.Transaction, fn func(kv.Transaction) error) (lifetime, error) {
	life := lifetime{began: c.now(), outcome: failed}
	err := fn(tx)
	if err == nil {
		if err = tx.Commit(c.ctx); err == nil {
			life.outcome = committed
		} else if kv.IsMaybeCommitted(err) {
			life.outcome = unknown
		}
	}
	life.ended = c.now()
	return life, err
}
