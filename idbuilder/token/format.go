// SPDX-License-Identifier: Apache-2.0

package token

import (
	"fmt"
	"log/slog"
)

// redacted stands for a secret where values are printed.
const redacted = "[redacted]"

// Format implements [fmt.Formatter]: the admin token is left out.
func (o Options) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), o.public())
}

// LogValue implements [slog.LogValuer]: the admin token is left out.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.public()) }

// public returns the options without the admin token, as a type without methods.
func (o Options) public() any {
	type options = Options
	type Options options // the name that %#v prints
	if o.Admin != "" {
		o.Admin = redacted
	}
	o.Now = nil
	return Options(o)
}

// Format implements [fmt.Formatter]: the token is left out.
func (t Token) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), t.public()) }

// LogValue implements [slog.LogValuer]: the token is left out.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.public()) }

func (t Token) public() any {
	type token = Token
	type Token token
	if t.Text != "" {
		t.Text = redacted
	}
	return Token(t)
}

// Format implements [fmt.Formatter]: an authority prints nothing of its own.
func (a *Authority) Format(f fmt.State, _ rune) { fmt.Fprint(f, "token.Authority") }

// LogValue implements [slog.LogValuer].
func (a *Authority) LogValue() slog.Value { return slog.StringValue("token.Authority") }
