// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"fmt"
	"log/slog"
)

// Format implements [fmt.Formatter]: options print like any struct, except that
// the admin token and what cannot be printed are left out.
func (o Options) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), o.public())
}

// LogValue implements [slog.LogValuer]: options are logged without the admin token.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.public()) }

// public returns the options without secrets, as a type without methods.
func (o Options) public() any {
	type options = Options
	type Options options // the name that %#v prints
	if o.Tokens.Admin != "" {
		o.Tokens.Admin = "[redacted]"
	}
	o.Tokens.Now, o.Controller, o.Console, o.Now, o.Tracer, o.Logger = nil, nil, nil, nil, nil, nil
	return Options(o)
}

// Format implements [fmt.Formatter]: a worker prints nothing of its own.
func (w *Worker) Format(f fmt.State, _ rune) { fmt.Fprint(f, "idbuilder.Worker") }

// LogValue implements [slog.LogValuer].
func (w *Worker) LogValue() slog.Value { return slog.StringValue("idbuilder.Worker") }
