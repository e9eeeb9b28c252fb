// SPDX-License-Identifier: Apache-2.0

package token

import (
	"fmt"
	"log/slog"
	"time"
)

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

// Token is a token as its owner gets it.
type Token struct {
	Key     string
	Text    string
	Expires time.Time // zero: it does not expire
}

// redacted stands for a secret where values are printed.
const redacted = "[redacted]"
