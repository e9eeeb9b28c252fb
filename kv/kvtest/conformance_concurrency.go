// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

var concurrencyLaws = []law{
	{"every increment counts once", checkIncrements},
	{"money is neither made nor lost", checkBank},
	{"additions do not conflict and none is lost", checkAdditions},
	{"reads of one transaction may run together", checkParallelReads},
	{"an all-or-nothing pair is never seen half", checkPairs},
	{"random histories are strictly serializable", func(c *conformance) {
		history.CheckSerializable(c.TB, c.db, history.LoadOptions{Seed: seed.Of(c.TB)})
	}},
	{"random histories are those of their versionstamps", func(c *conformance) {
		history.CheckCommitOrder(c.TB, c.db, history.LoadOptions{Seed: seed.Of(c.TB)})
	}},
}

const (
	workers = 8
	perhaps = 25 // transactions of each worker
)

// together runs fn once for each worker.
func together(c *conformance, fn func(worker int) error) {
	c.Helper()
	var group sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		group.Go(func() {
			if err := fn(w); err != nil {
				failures <- fmt.Errorf("worker %d: %w", w, err)
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		c.Error(err)
	}
}

// checkIncrements counts by reading and writing. Each increment leaves a mark
// with its own name, so that a lost acknowledgement does not count it twice.
func checkIncrements(c *conformance) {
	together(c, func(w int) error {
		for i := range perhaps {
			mark := fmt.Appendf(nil, "mark/%d/%d", w, i)
			err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
				done, count := tx.Get(mark), tx.Get([]byte("count"))
				if mark, err := done.Get(c.ctx); err != nil || mark != nil {
					return err
				}
				text, err := count.Get(c.ctx)
				if err != nil {
					return err
				}
				n, _ := strconv.Atoi(string(text))
				tx.Set([]byte("count"), strconv.AppendInt(nil, int64(n+1), 10))
				tx.Set(mark, nil)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	c.want("count", c.stored("count"), strconv.Itoa(workers*perhaps))
}

const accounts, fortune = 6, 600

// checkBank moves money between accounts while readers add it up, by point
// reads and by ranges.
func checkBank(c *conformance) {
	account := func(i int) []byte { return fmt.Appendf(nil, "account/%d", i) }
	c.update(func(tx kv.Transaction) {
		for i := range accounts {
			tx.Set(account(i), strconv.AppendInt(nil, fortune/accounts, 10))
		}
	})
	seed := seed.Of(c.TB)
	together(c, func(w int) error {
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		for range perhaps {
			var err error
			if w%4 == 0 {
				err = addUp(c)
			} else {
				err = transfer(c, account(rng.IntN(accounts)), account(rng.IntN(accounts)), rng.IntN(50))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := addUp(c); err != nil {
		c.Error(err)
	}
}

func transfer(c *conformance, from, to []byte, amount int) error {
	return c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		source, target := tx.Get(from), tx.Get(to)
		a, errA := source.Get(c.ctx)
		b, errB := target.Get(c.ctx)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		have, _ := strconv.Atoi(string(a))
		there, _ := strconv.Atoi(string(b))
		if have < amount || string(from) == string(to) {
			return nil
		}
		tx.Set(from, strconv.AppendInt(nil, int64(have-amount), 10))
		tx.Set(to, strconv.AppendInt(nil, int64(there+amount), 10))
		return nil
	})
}

// addUp fails if the accounts do not hold the fortune together.
func addUp(c *conformance) error {
	sum, err := kv.ReadTransact(c.ctx, c.db, func(tx kv.ReadTransaction) (int, error) {
		sum := 0
		for pair, err := range tx.GetRange(kv.PrefixRange([]byte("account/")).Selectors(), kv.RangeOptions{}).All(c.ctx) {
			if err != nil {
				return 0, err
			}
			n, _ := strconv.Atoi(string(pair.Value))
			sum += n
		}
		return sum, nil
	})
	if err == nil && sum != fortune {
		err = fmt.Errorf("the accounts hold %d, want %d", sum, fortune)
	}
	return err
}

// checkAdditions adds without reading, on transactions that are committed
// exactly once: after a lost acknowledgement nothing could be said.
func checkAdditions(c *conformance) {
	together(c, func(int) error {
		for range perhaps {
			tx, err := c.db.Begin()
			if err != nil {
				return err
			}
			tx.Atomic(kv.Add, []byte("n"), kv.Int64(1))
			err = tx.Commit(c.ctx)
			tx.Cancel()
			if err != nil {
				return err
			}
		}
		return nil
	})
	c.want("n", c.stored("n"), string(kv.Int64(workers*perhaps)))
}

func checkParallelReads(c *conformance) {
	fillRange(c, 100)
	tx := c.begin()
	together(c, func(w int) error {
		for i := range 100 {
			value, err := tx.Get(fmt.Appendf(nil, "k%05d", i)).Get(c.ctx)
			if err != nil || string(value) != strconv.Itoa(i*7) {
				return fmt.Errorf("key %d: %q, %w", i, value, err)
			}
			tx.Set(fmt.Appendf(nil, "w%d/%03d", w, i), nil)
		}
		return nil
	})
	c.commit(tx)
	c.want("keys", len(c.contents()), 100+100*workers)
}

// checkPairs writes pairs of equal values and reads them in one transaction.
func checkPairs(c *conformance) {
	c.put("left", "0", "right", "0")
	together(c, func(w int) error {
		for i := range perhaps {
			if w%2 == 0 {
				value := fmt.Appendf(nil, "%d/%d", w, i)
				err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
					tx.Set([]byte("left"), value)
					tx.Set([]byte("right"), value)
					return nil
				})
				if err != nil {
					return err
				}
				continue
			}
			err := c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
				left, right := tx.Get([]byte("left")), tx.Get([]byte("right"))
				l, errLeft := left.Get(c.ctx)
				r, errRight := right.Get(c.ctx)
				if err := errors.Join(errLeft, errRight); err != nil {
					return err
				}
				if string(l) != string(r) {
					return fmt.Errorf("left %q, right %q", l, r)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// racingAnomalyLaws look for the anomalies among goroutines that run at once.
var racingAnomalyLaws = []law{
	{"dirty write: many at once", func(c *conformance) { checkWhole(c, false) }},
	{"dirty read: many at once", checkNeverDirty},
	{"lost update: many at once", checkIncrements},
	{"read skew: many at once", func(c *conformance) { checkWhole(c, true) }},
	{"write skew: many at once", checkDuty},
	{"phantom: many at once", checkRooms},
}

// checkWhole lets writers give all of some keys one value, blindly, while
// readers compare them: by ranges, or by one read after another.
func checkWhole(c *conformance, oneByOne bool) {
	keys := []string{"p", "q", "r", "s"}
	c.put("p", "0", "q", "0", "r", "0", "s", "0")
	together(c, func(w int) error {
		for i := range perhaps {
			if w%2 == 1 {
				if err := readWhole(c, keys, oneByOne); err != nil {
					return err
				}
				continue
			}
			err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
				if i%3 == 0 {
					tx.ClearRange(model.Span("p", "t"))
				}
				for n := range keys {
					tx.Set([]byte(keys[(n+w+i)%len(keys)]), fmt.Appendf(nil, "%d/%d", w, i))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// readWhole fails if keys have different values.
func readWhole(c *conformance, keys []string, oneByOne bool) error {
	return c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
		var values []string
		if !oneByOne {
			pairs, err := tx.GetRange(model.Span("p", "t").Selectors(), kv.RangeOptions{Mode: kv.ModeSmall}).Slice(c.ctx)
			if err != nil {
				return err
			}
			for _, pair := range pairs {
				values = append(values, string(pair.Value))
			}
		}
		for i := 0; oneByOne && i < len(keys); i++ {
			value, err := tx.Get([]byte(keys[i])).Get(c.ctx)
			if err != nil {
				return err
			}
			values = append(values, string(value))
		}
		if len(values) != len(keys) || len(slices.Compact(values)) != 1 {
			return fmt.Errorf("read %q, want %d values that are the same", values, len(keys))
		}
		return nil
	})
}

// checkNeverDirty lets transactions write "dirty", and then "clean" over it or
// nothing any more; readers see only "clean".
func checkNeverDirty(c *conformance) {
	together(c, func(w int) error {
		for i := range perhaps {
			switch key := fmt.Appendf(nil, "d%d", (w+i)%3); w % 4 {
			case 0:
				tx, err := c.db.Begin()
				if err != nil {
					return err
				}
				tx.Set(key, []byte("dirty"))
				tx.Cancel()
			case 1:
				err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
					tx.Set(key, []byte("dirty"))
					_, err := tx.Get(key).Get(c.ctx)
					tx.Set(key, []byte("clean"))
					return err
				})
				if err != nil {
					return err
				}
			default:
				if err := seeClean(c); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func seeClean(c *conformance) error {
	return c.db.ReadTransact(c.ctx, func(tx kv.ReadTransaction) error {
		for pair, err := range tx.GetRange(model.Span("d", "e").Selectors(), kv.RangeOptions{}).All(c.ctx) {
			if err != nil {
				return err
			}
			if string(pair.Value) != "clean" {
				return fmt.Errorf("%s is %q", pair.Key, pair.Value)
			}
		}
		return nil
	})
}

// checkDuty has each worker read every duty key, and clear its own if another
// worker is on duty. At least one key always remains.
func checkDuty(c *conformance) {
	duty := func(w int) []byte { return fmt.Appendf(nil, "duty/%d", w%3) }
	c.put("duty/0", "", "duty/1", "", "duty/2", "")
	together(c, func(w int) error {
		for range perhaps {
			err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
				present := 0
				for other := range 3 {
					value, err := tx.Get(duty(other)).Get(c.ctx)
					if err != nil {
						return err
					}
					if value != nil {
						present++
					}
				}
				switch present {
				case 0:
					return fmt.Errorf("no worker is on duty")
				case 1:
					tx.Set(duty(w), nil)
					tx.Set(duty(w+1), nil)
				default:
					tx.Clear(duty(w))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// checkRooms has each worker read a room's range, take the room if it is empty,
// and clear it if it is not. No worker ever finds two guests in a room.
func checkRooms(c *conformance) {
	together(c, func(w int) error {
		for i := range perhaps {
			room := fmt.Sprintf("room/%d/", (w+i)%2)
			err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
				r := kv.PrefixRange([]byte(room))
				guests, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Reverse: i%2 == 0}).Slice(c.ctx)
				switch {
				case err != nil:
					return err
				case len(guests) > 1:
					return fmt.Errorf("in one room: %q", model.Texts(guests))
				case len(guests) == 1:
					tx.ClearRange(r)
				default:
					tx.Set(fmt.Appendf(nil, "%s%d/%d", room, w, i), nil)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
