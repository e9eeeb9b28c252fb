// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/measure"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// operation is what the DB's tracer is told of. A nil operation is not traced: the DB has
// no tracer, or the operation is a part of another.
type operation struct {
	end    func(trace.Outcome)
	began  time.Time
	ctx    context.Context // the tracer's, in which it begins the operations of the transaction
	meter  *measure.Meter
	before measure.Usage // of the transaction to which it is bound
	bound  bool

	attempts, conflicts int
	causes              []trace.Conflict
}

// maxCauses is how many causes of conflicts an operation keeps.
const maxCauses = 10

// operationKey is the key under which a context carries its operation.
type operationKey struct{}

// boundContext is the context of an operation that belongs to a transaction: it ends when
// its caller's does, and has the values of the transaction's, such as its span.
type boundContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (c boundContext) Value(key any) any {
	if v := c.values.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// measureWrites returns the engine's transaction with its calls counted.
func (o *operation) measureWrites(tx kv.Transaction) kv.Transaction {
	if o == nil {
		return tx
	}
	return o.meter.Transaction(tx)
}

// measureReads returns the engine's transaction with its reads counted.
func (o *operation) measureReads(tx kv.ReadTransaction) kv.ReadTransaction {
	if o == nil {
		return tx
	}
	return o.meter.ReadTransaction(tx)
}

// startAttempt counts an attempt.
func (o *operation) startAttempt() {
	if o != nil {
		o.attempts++
	}
}

// noteConflict counts the conflict with which the attempt before failed.
func (o *operation) noteConflict(causes []trace.Conflict) {
	if o == nil {
		return
	}
	o.conflicts++
	o.causes = append(o.causes, causes...)
	o.causes = o.causes[max(0, len(o.causes)-maxCauses):]
}

// finish tells the tracer how the operation ended. err points to its result.
func (o *operation) finish(err *error) {
	if o == nil {
		return
	}
	out := trace.Outcome{Usage: o.meter.Usage().Sub(o.before), Time: time.Since(o.began), Err: *err}
	if !o.bound {
		out.Attempts, out.Conflicts, out.Causes = o.attempts, o.conflicts, o.causes
	}
	o.end(out)
}
