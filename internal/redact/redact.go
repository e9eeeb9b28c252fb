// SPDX-License-Identifier: Apache-2.0

// Package redact prints values without their secrets. A type with a secret has a
// method that returns a copy without the secret. The type of the copy has no methods. The type with the secret
// implements [fmt.Formatter] and [log/slog.LogValuer] with the copy:
//
//	func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }
//
//	func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }
//
//	func (t Token) withoutSecret() any {
//		type token = Token
//		type Token token // the name that %#v prints
//		t.Secret = redact.Secret(t.Secret)
//		return Token(t)
//	}
package redact

import "fmt"

// Text stands for a secret where values are printed.
const Text = "[redacted]"

// Secret returns [Text] in place of a secret; "" if there is none.
func Secret(secret string) string {
	if secret == "" {
		return ""
	}
	return Text
}

// Format prints value as f and verb ask. The type of value must not be a
// [fmt.Formatter] that calls Format with it.
func Format(f fmt.State, verb rune, value any) { fmt.Fprintf(f, fmt.FormatString(f, verb), value) }
