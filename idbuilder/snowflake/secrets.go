// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"fmt"
	"log/slog"
)

// Format implements [fmt.Formatter]: a grant prints without its lease key.
func (g Grant) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), g.public()) }

// LogValue implements [slog.LogValuer]: a grant is logged without its lease key.
func (g Grant) LogValue() slog.Value { return slog.AnyValue(g.public()) }

// public returns the grant without its lease key, as a type without methods.
func (g Grant) public() any {
	type grant = Grant
	type Grant grant // the name that %#v prints
	g.LeaseKey = redact(g.LeaseKey)
	return Grant(g)
}

// Format implements [fmt.Formatter]: a client prints without its lease key.
func (c Client) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), c.public())
}

// LogValue implements [slog.LogValuer]: a client is logged without its lease key.
func (c Client) LogValue() slog.Value { return slog.AnyValue(c.public()) }

// public returns the client without its lease key, as a type without methods.
func (c Client) public() any {
	type client = Client
	type Client client // the name that %#v prints
	c.LeaseKey = redact(c.LeaseKey)
	return Client(c)
}

func redact(secret string) string {
	if secret == "" {
		return ""
	}
	return "[redacted]"
}
