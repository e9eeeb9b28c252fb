// SPDX-License-Identifier: Apache-2.0

package persistableotel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// instruments are the histograms of a tracer.
type instruments struct {
	duration metric.Float64Histogram
	costs    []cost
}

// cost is a histogram of something that operations cost.
type cost struct {
	name, unit, about string
	of                func(trace.Outcome) int
	bounds            []float64 // of the buckets; nil: the SDK's, of which the first above 0 is 5
	metric.Int64Histogram
}

// few are the bounds for numbers that are mostly 0 or 1.
var few = []float64{0, 1, 2, 3, 5, 10, 20, 50}

func newInstruments(meter metric.Meter) (instruments, error) {
	in := instruments{costs: []cost{
		{name: "attempts", unit: "{attempt}", about: "Attempts of an operation's transaction.", of: func(o trace.Outcome) int { return o.Attempts }, bounds: few},
		{name: "conflicts", unit: "{conflict}", about: "Attempts that failed because of another transaction.", of: func(o trace.Outcome) int { return o.Conflicts }, bounds: few},
		{name: "rounds", unit: "{round}", about: "Rounds of reads.", of: func(o trace.Outcome) int { return o.Rounds }, bounds: few},
		{name: "keys_read", unit: "{key}", about: "Pairs read.", of: func(o trace.Outcome) int { return o.Pairs }},
		{name: "bytes_read", unit: "By", about: "Length of the keys and values read.", of: func(o trace.Outcome) int { return o.BytesRead }},
		{name: "bytes_written", unit: "By", about: "Length of the keys and values written, in all attempts.", of: func(o trace.Outcome) int { return o.BytesWritten }},
	}}
	var faults []error
	for i := range in.costs {
		c := &in.costs[i]
		var err error
		options := []metric.Int64HistogramOption{metric.WithUnit(c.unit), metric.WithDescription(c.about)}
		if c.bounds != nil {
			options = append(options, metric.WithExplicitBucketBoundaries(c.bounds...))
		}
		c.Int64Histogram, err = meter.Int64Histogram("kazahana.operation."+c.name, options...)
		faults = append(faults, err)
	}
	var err error
	in.duration, err = meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"), metric.WithDescription("Time of operations."),
		metric.WithExplicitBucketBoundaries(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5))
	if err := errors.Join(append(faults, err)...); err != nil {
		return in, fmt.Errorf("persistableotel: new tracer: %w", err)
	}
	return in, nil
}

// record adds an operation to the histograms.
func (in *instruments) record(ctx context.Context, attributes []attribute.KeyValue, op trace.Operation, o trace.Outcome) {
	all := metric.WithAttributeSet(attribute.NewSet(attributes...))
	if !op.Bound {
		for _, c := range in.costs {
			c.Record(ctx, int64(c.of(o)), all)
		}
	}
	if hasFailed(o.Err) {
		all = metric.WithAttributeSet(attribute.NewSet(append(slices.Clip(attributes), errorKey.String(errorType(o.Err)))...))
	}
	in.duration.Record(ctx, o.Time.Seconds(), all)
}

// errorType returns a name for an error, of which there are few.
func errorType(err error) string {
	var unique *persistable.UniqueError
	switch code := kv.CodeOf(err); {
	case code != 0:
		return fmt.Sprintf("kv_%d", code)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline_exceeded"
	case errors.Is(err, persistable.ErrExists):
		return "exists"
	case errors.Is(err, persistable.ErrChanged):
		return "changed"
	case errors.As(err, &unique):
		return "unique"
	}
	return "_OTHER"
}
