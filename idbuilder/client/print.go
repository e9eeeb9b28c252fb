// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"log/slog"
	"strings"
)

// Format implements [fmt.Formatter]: options print like any struct, except that
// the token and what cannot be printed are left out.
func (o Options) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), o.public())
}

// LogValue implements [slog.LogValuer]: options are logged without the token.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.public()) }

// public returns the options without the token, as a type without methods.
func (o Options) public() any {
	type options = Options
	type Options options // the name that %#v prints
	if o.Token != "" {
		o.Token = "[redacted]"
	}
	o.HTTPClient, o.Now = nil, nil
	return Options(o)
}

// String names the URLs.
func (c *Client) String() string { return "client.Client(" + strings.Join(c.urls, " ") + ")" }

// Format implements [fmt.Formatter]: a client prints its URLs, never its token.
func (c *Client) Format(f fmt.State, _ rune) { fmt.Fprint(f, c.String()) }

// LogValue implements [slog.LogValuer].
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String names the key.
func (h *Increment) String() string { return fmt.Sprintf("client.Increment(%q)", h.key) }

// Format implements [fmt.Formatter]: a handle prints its key.
func (h *Increment) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue implements [slog.LogValuer].
func (h *Increment) LogValue() slog.Value { return slog.StringValue(h.String()) }

// String names the key.
func (h *Formatted) String() string { return fmt.Sprintf("client.Formatted(%q)", h.key) }

// Format implements [fmt.Formatter]: a handle prints its key.
func (h *Formatted) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue implements [slog.LogValuer].
func (h *Formatted) LogValue() slog.Value { return slog.StringValue(h.String()) }

// String names the key.
func (h *Snowflake) String() string { return fmt.Sprintf("client.Snowflake(%q)", h.key) }

// Format implements [fmt.Formatter]: a handle prints its key, never that of its lease.
func (h *Snowflake) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue implements [slog.LogValuer].
func (h *Snowflake) LogValue() slog.Value { return slog.StringValue(h.String()) }

// Format implements [fmt.Formatter]: it prints the client.
func (a Admin) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "client.Admin(%v)", a.client) }

// LogValue implements [slog.LogValuer].
func (a Admin) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(a)) }
