// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"context"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/kv/measure"
)

// Tracer is told when operations of a DB begin and end. Its methods are called in the
// goroutines of the callers, several at a time.
type Tracer interface {
	// Begin is called before an operation. The operation goes on with the context that
	// Begin returns: ctx, or one made of it, such as one with a span. The DB calls end once,
	// when the operation is over; of a loop over records, when the loop is left.
	Begin(ctx context.Context, op Operation) (inner context.Context, end func(Outcome))
}

// Operation is what a program has asked a DB to do.
type Operation struct {
	// Name is the name of the method, such as Create, Get or Page. That of a function's
	// transaction is Transact or ReadTransact.
	Name string
	// Type is the name in keys of the type of records; "" of a Transact.
	Type string
	// Index is the name of the index that was asked for; "" for records by their ids.
	Index string
	// Path is the directory of the records: that of the tenant. It must not be changed.
	Path []string
	// Bound tells that the operation belongs to a transaction of the program, by In. Its
	// usage is that of the transaction while the operation ran, so operations of several
	// goroutines in one transaction count each other's. Its attempt is the
	// transaction's.
	Bound bool
}

// Outcome is how an operation ended.
type Outcome struct {
	// Usage is what the operation asked of the engine and got, in all attempts.
	measure.Usage
	// Time is how long it took, the caller's functions included.
	Time time.Duration
	// Attempts is how many attempts there were, Conflicts how many of them failed because
	// another transaction had written what they read. Both are 0 of a bound operation.
	Attempts, Conflicts int
	// Causes say what other transactions changed in the attempts that failed with a
	// conflict: the last ones of many.
	Causes []Conflict
	// Err is the error that the operation returned.
	Err error
}

// Join returns a tracer that tells several ones, each within the context of those before
// it. Nil tracers are left out; without any other it returns nil.
func Join(tracers ...Tracer) Tracer {
	all := slices.DeleteFunc(slices.Clone(tracers), func(t Tracer) bool { return t == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return joint(all)
}

// joint are the tracers of a Join.
type joint []Tracer

// Begin implements [Tracer].
func (j joint) Begin(ctx context.Context, op Operation) (inner context.Context, end func(Outcome)) {
	ends := make([]func(Outcome), len(j))
	for i, t := range j {
		ctx, ends[i] = t.Begin(ctx, op)
	}
	return ctx, func(o Outcome) {
		for _, end := range slices.Backward(ends) {
			end(o)
		}
	}
}
