// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

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
	c.together(func(w int) error {
		for i := range perhaps {
			if w%2 == 1 {
				if err := c.readWhole(keys, oneByOne); err != nil {
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
func (c *conformance) readWhole(keys []string, oneByOne bool) error {
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
	c.together(func(w int) error {
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
				if err := c.seeClean(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (c *conformance) seeClean() error {
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
	c.together(func(w int) error {
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
	c.together(func(w int) error {
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
