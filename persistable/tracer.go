// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Tracer is told of the operations of a DB: how long each took, how many rounds, keys and
// bytes it read, how often it ran again, and why. [LogSlow] logs slow ones with their costs,
// package persistableotel makes spans and histograms of OpenTelemetry, and [JoinTracers]
// tells several tracers. Its methods are called in the goroutines of the callers, several
// at a time.
//
// A DB without a tracer does nothing for it. One with a tracer wraps the engine's
// transactions, which costs about a microsecond an operation.
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
	// Waits is how long it waited for read versions and commits, in all attempts; zero of a bound
	// operation.
	measure.Waits
	// Time is how long it took, the caller's functions included.
	Time time.Duration
	// Attempts is how many attempts there were, Conflicts how many of them failed because
	// another transaction had written what they read. Both are 0 of a bound operation.
	Attempts, Conflicts int
	// Throttled is how many attempts a cluster ended because of a limit of their tags
	// (kv.TransactionOptions.Tags).
	Throttled int
	// Causes say what other transactions changed in the attempts that failed with a
	// conflict: the last ones of many.
	Causes []Conflict
	// Err is the error that the operation returned.
	Err error
}

// WithIdentifier returns a context for a [Tracer] to return from Begin: it names the operation's
// transaction, after the name that kv.TransactionOptions.Identifier gives, so that the trace and
// the samples of a cluster lead to the span. What is longer than kv.MaxIdentifierSize is cut.
func WithIdentifier(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, identifierKey{}, id)
}

// identifierKey is the key under which a context carries the identifier of a transaction.
type identifierKey struct{}

// JoinTracers returns a tracer that tells several ones, each within the context of those before
// it. Nil tracers are left out; without any other it returns nil.
func JoinTracers(tracers ...Tracer) Tracer {
	all := slices.DeleteFunc(slices.Clone(tracers), func(t Tracer) bool { return t == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return joint(all)
}

// joint are the tracers of JoinTracers.
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

// Conflict is something that a transaction had read when another one changed it.
type Conflict struct {
	// Type is the type's name in keys; "" if the keys are of no store that the transaction
	// has opened: keys of the program's own, or of the directory layer.
	Type string
	// Path is the directory of the store: that of the tenant.
	Path []string
	// Index is the name of the index whose entry changed; "" for a record or the store's header.
	Index string
	// Fields are the fields of the index.
	Fields []string
	// Values are the values of the entry, in the order of Fields, as far as they are those of
	// all keys that were read; nil for a record.
	Values tuple.Tuple
	// ID is the record's id, in its own type; nil if several records were read, and for an
	// index.
	ID any
	// Header tells that the store's header changed: the schema, or the state of an index.
	Header bool
	// Range is what was read.
	Range kv.KeyRange
}

// String says what changed: "the index Order_Number, Number = "A-1", of Order in
// tenants/tenant-1/orders".
func (c Conflict) String() string {
	of := c.Type + " in " + strings.Join(c.Path, "/")
	switch {
	case c.Type == "":
		return fmt.Sprintf("keys from %s to %s", tuple.Describe(c.Range.Begin), tuple.Describe(c.Range.End))
	case c.Header:
		return "the header of " + of
	case c.Index != "" && len(c.Values) > 0:
		return fmt.Sprintf("the index %s, %s, of %s", c.Index, c.valuesText(), of)
	case c.Index != "":
		return fmt.Sprintf("the index %s of %s", c.Index, of)
	case c.ID == nil:
		return "records of " + of
	}
	return fmt.Sprintf("the record %v of %s", c.ID, of)
}

// valuesText lists the fields and their values.
func (c Conflict) valuesText() string {
	var parts []string
	for i, v := range c.Values {
		parts = append(parts, c.Fields[i]+" = "+strings.Trim(tuple.Tuple{v}.String(), "()"))
	}
	return strings.Join(parts, ", ")
}

// LogSlow returns a tracer that logs each operation that takes at least so long, at the
// level Warn, with its costs. Operations that belong to a transaction are not
// logged: their transaction is.
func LogSlow(log *slog.Logger, atLeast time.Duration) Tracer { return slowLog{log, atLeast} }

// slowLog is the tracer of LogSlow.
type slowLog struct {
	log     *slog.Logger
	atLeast time.Duration
}

// Begin implements [Tracer].
func (s slowLog) Begin(ctx context.Context, op Operation) (inner context.Context, end func(Outcome)) {
	return ctx, func(o Outcome) {
		if o.Time >= s.atLeast && !op.Bound {
			s.log.LogAttrs(ctx, slog.LevelWarn, "slow operation", attributes(op, o)...)
		}
	}
}

// attributes returns what is logged of an operation. What does not say anything is left out.
func attributes(op Operation, o Outcome) []slog.Attr {
	list := []slog.Attr{slog.String("operation", op.Name)}
	for _, a := range []slog.Attr{slog.String("type", op.Type), slog.String("index", op.Index), slog.String("directory", strings.Join(op.Path, "/"))} {
		if a.Value.String() != "" {
			list = append(list, a)
		}
	}
	list = append(
		list,
		slog.Duration("took", o.Time), slog.Int("attempts", o.Attempts), slog.Int("conflicts", o.Conflicts), slog.Int("throttled", o.Throttled), slog.Int("rounds", o.Rounds),
		slog.Int("keys read", o.Pairs), slog.Int("bytes read", o.BytesRead), slog.Int("writes", o.Writes), slog.Int("bytes written", o.BytesWritten),
	)
	for _, c := range o.Causes {
		list = append(list, slog.String("conflict", c.String()))
	}
	if o.Err != nil {
		list = append(list, slog.Any("error", o.Err))
	}
	return list
}
