// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/persistable/trace"
)

// fakeTracer notes what it is told.
type fakeTracer struct {
	name string
	log  *[]string
}

type nameKey struct{}

func (f fakeTracer) Begin(ctx context.Context, op trace.Operation) (context.Context, func(trace.Outcome)) {
	*f.log = append(*f.log, fmt.Sprint(f.name, " begins ", op.Name, " within ", ctx.Value(nameKey{})))
	return context.WithValue(ctx, nameKey{}, f.name), func(o trace.Outcome) { *f.log = append(*f.log, fmt.Sprint(f.name, " ends: ", o.Err)) }
}

func TestJoin(t *testing.T) {
	if trace.Join() != nil || trace.Join(nil, nil) != nil {
		t.Error("joining nothing is a tracer")
	}
	var log []string
	one := fakeTracer{"one", &log}
	if got := trace.Join(nil, one); got != trace.Tracer(one) {
		t.Errorf("joining one: %v", got)
	}
	ctx, end := trace.Join(one, nil, fakeTracer{"two", &log}).Begin(t.Context(), trace.Operation{Name: "Get"})
	end(trace.Outcome{Err: errors.New("lost")})
	want := []string{"one begins Get within <nil>", "two begins Get within one", "two ends: lost", "one ends: lost"}
	if !slices.Equal(log, want) || ctx.Value(nameKey{}) != "two" {
		t.Errorf("got %q, the inner context is that of %v", log, ctx.Value(nameKey{}))
	}
}

func TestLogSlow(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	tracer := trace.LogSlow(log, time.Second)
	end := func(op trace.Operation, o trace.Outcome) {
		_, end := tracer.Begin(t.Context(), op)
		end(o)
	}
	end(trace.Operation{Name: "Get", Type: "Order"}, trace.Outcome{Time: time.Second - 1})
	end(trace.Operation{Name: "Get", Type: "Order", Bound: true}, trace.Outcome{Time: time.Minute})
	if out.Len() > 0 {
		t.Errorf("logged %s", out.String())
	}
	end(trace.Operation{Name: "Page", Type: "Order", Index: "Order_Status", Path: []string{"tenants", "a"}}, trace.Outcome{
		Time: time.Second, Attempts: 3, Conflicts: 2, Err: errors.New("lost"),
		Usage: measure.Usage{Counts: measure.Counts{Rounds: 4, Writes: 5}, Pairs: 6, BytesRead: 7, BytesWritten: 8},
	})
	want := `level=WARN msg="slow operation" operation=Page type=Order index=Order_Status directory=tenants/a took=1s attempts=3 conflicts=2 ` +
		`rounds=4 "keys read"=6 "bytes read"=7 writes=5 "bytes written"=8 error=lost` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}
