// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv/measure"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// begin begins an operation, which is bound to a transaction or, if that is nil, has its
// own.
func (db *DB) begin(ctx context.Context, op trace.Operation, t *transaction) (context.Context, *operation) {
	if db.options.Tracer == nil || ctx.Value(operationKey{}) != nil {
		return ctx, nil
	}
	o := &operation{meter: new(measure.Meter), bound: t != nil}
	if o.bound {
		op.Bound = true
		if t.operation != nil {
			o.meter, o.before = t.operation.meter, t.operation.meter.Usage()
			ctx = boundContext{ctx, context.WithoutCancel(t.operation.ctx)} // the operation ends for its own cause
		}
	}
	o.ctx, o.end = db.options.Tracer.Begin(ctx, op)
	o.began = time.Now()
	return context.WithValue(o.ctx, operationKey{}, o), o
}

// operationOf returns the operation whose transaction is about to begin, or nil.
func (db *DB) operationOf(ctx context.Context) *operation {
	if db.options.Tracer == nil {
		return nil
	}
	o, _ := ctx.Value(operationKey{}).(*operation)
	return o
}
