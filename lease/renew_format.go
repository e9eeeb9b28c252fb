// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"log/slog"
)

// Format implements [fmt.Formatter]: a request prints without its secret.
func (r RenewRequest) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), r.public())
}

// LogValue implements [slog.LogValuer]: a request is logged without its secret.
func (r RenewRequest) LogValue() slog.Value { return slog.AnyValue(r.public()) }

// public returns the request without its secret, as a type without methods.
func (r RenewRequest) public() any {
	type request = RenewRequest
	type RenewRequest request // the name that %#v prints
	if r.Secret != "" {
		r.Secret = "[redacted]"
	}
	return RenewRequest(r)
}
