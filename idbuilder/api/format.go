// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"log/slog"
)

// redacted stands for a secret where values are printed.
const redacted = "[redacted]"

// Format implements [fmt.Formatter]: the token is left out.
func (t Token) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), t.public()) }

// LogValue implements [slog.LogValuer]: the token is left out.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.public()) }

// public returns the token without its text, as a type without methods.
func (t Token) public() any {
	type token = Token
	type Token token // the name that %#v prints
	if t.Token != "" {
		t.Token = redacted
	}
	return Token(t)
}

// Format implements [fmt.Formatter]: the lease key is left out.
func (s Snowflake) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.public())
}

// LogValue implements [slog.LogValuer]: the lease key is left out.
func (s Snowflake) LogValue() slog.Value { return slog.AnyValue(s.public()) }

func (s Snowflake) public() any {
	type snowflake = Snowflake
	type Snowflake snowflake
	if s.LeaseKey != "" {
		s.LeaseKey = redacted
	}
	return Snowflake(s)
}
