// SPDX-License-Identifier: Apache-2.0

package token

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Format implements [fmt.Formatter]: the token is left out.
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }

// LogValue implements [slog.LogValuer]: the token is left out.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }

func (t Token) withoutSecret() any {
	type token = Token
	type Token token
	t.Text = redact.Secret(t.Text)
	return Token(t)
}

// Token is a token with its text.
type Token struct {
	Key     string
	Text    string
	Expires time.Time // zero: it does not expire
}
