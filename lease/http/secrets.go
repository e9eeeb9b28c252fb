// SPDX-License-Identifier: Apache-2.0

package http

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
)

// redacted stands for a secret where values are printed.
const redacted = "[redacted]"

// Format implements [fmt.Formatter]: a token prints like any struct, except that
// its secret is left out.
func (t Token) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), t.public()) }

// LogValue implements [slog.LogValuer]: a token is logged without its secret.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.public()) }

// public returns the token without its secret, as a type without methods.
func (t Token) public() any {
	type token = Token
	type Token token // the name that %#v prints
	if t.Secret != "" {
		t.Secret = redacted
	}
	return Token(t)
}

// Format implements [fmt.Formatter]: options print like any struct, except that
// the token is left out.
func (o ClientOptions) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), o.public())
}

// LogValue implements [slog.LogValuer]: options are logged without the token.
func (o ClientOptions) LogValue() slog.Value { return slog.AnyValue(o.public()) }

// public returns the options without the token, as a type without methods.
func (o ClientOptions) public() any {
	type options = ClientOptions
	type ClientOptions options // the name that %#v prints
	if o.Token != "" {
		o.Token = redacted
	}
	if u, err := url.Parse(o.URL); err != nil {
		o.URL = redacted // there may be a password in it
	} else if u.User != nil {
		o.URL = u.Redacted()
	}
	return ClientOptions(o)
}

// LogValue implements [slog.LogValuer]: options are logged without the secrets of
// the tokens.
func (o HandlerOptions) LogValue() slog.Value {
	type plain HandlerOptions
	o.Tokens = slices.Clone(o.Tokens)
	for i := range o.Tokens {
		o.Tokens[i].Secret = redacted
	}
	return slog.AnyValue(plain(o))
}
