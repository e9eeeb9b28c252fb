// SPDX-License-Identifier: Apache-2.0

// Package trace says what a DB tells of its operations: how long each took, how many rounds,
// keys and bytes it read, how often it ran again, and why.
//
//	slow := trace.LogSlow(slog.Default(), 100*time.Millisecond)
//	db, err := persistable.OpenWith(ctx, engine, persistable.Options{Tracer: slow})
//
// logs each operation of 100 ms and more with its costs. Package persistableotel makes
// spans and histograms of OpenTelemetry; [Join] tells several tracers.
//
// A DB without a tracer does nothing for it. One with a tracer wraps the engine's
// transactions, which costs about a microsecond an operation.
package trace
