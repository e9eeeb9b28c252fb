// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

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
		slog.Duration("took", o.Time), slog.Int("attempts", o.Attempts), slog.Int("conflicts", o.Conflicts), slog.Int("rounds", o.Rounds),
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
