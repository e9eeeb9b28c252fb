// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"fmt"
	"log/slog"
)

// Format implements [fmt.Formatter]: it prints like any struct, except that the
// private key and its password are left out.
func (t TLS) Format(f fmt.State, verb rune) {
	type tls = TLS
	type TLS tls // without methods; the name is what %#v prints
	fmt.Fprintf(f, fmt.FormatString(f, verb), TLS(t.public()))
}

// LogValue implements [slog.LogValuer]: it is logged without the private key and
// its password.
func (t TLS) LogValue() slog.Value {
	type plain TLS
	return slog.AnyValue(plain(t.public()))
}

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (n Network) LogValue() slog.Value {
	type plain Network
	n.TLS = n.TLS.public()
	return slog.AnyValue(plain(n))
}

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (o Options) LogValue() slog.Value {
	type plain Options
	o.Network.TLS = o.Network.TLS.public()
	return slog.AnyValue(plain(o))
}

// public returns t without secrets.
func (t TLS) public() TLS {
	if t.Password != "" {
		t.Password = "[redacted]"
	}
	t.KeyPEM = nil
	return t
}
