// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/measure"
)

// Counts is what a program asked of a database.
type Counts = measure.Counts

// Counter is a database that counts what is asked of it. It is safe for
// concurrent use, but rounds mean something only where one goroutine uses a
// transaction: they are counted for each transaction and added up.
type Counter struct {
	kv.Database
	meter *measure.Meter
}

// NewCounter wraps db. A read counts also where the engine answers it from the
// transaction's own writes, since a program cannot rely on that.
func NewCounter(db kv.Database) *Counter {
	m := &measure.Meter{}
	return &Counter{m.Database(db), m}
}

// Counts returns what was counted so far.
func (c *Counter) Counts() Counts { return c.meter.Usage().Counts }

// Measure runs fn and returns what it cost and its error.
func (c *Counter) Measure(fn func() error) (Counts, error) {
	before := c.Counts()
	err := fn()
	return c.Counts().Sub(before), err
}
