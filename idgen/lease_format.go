// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"fmt"
	"log/slog"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Format implements [fmt.Formatter]: a lease prints like any struct, except that
// its secret is left out. Its JSON has the secret, since that is how leases
// travel: do not log slices or structs of leases as JSON.
func (l Lease) Format(f fmt.State, verb rune) { redact.Format(f, verb, l.withoutSecret()) }

// LogValue implements [slog.LogValuer]: a lease is logged without its secret.
func (l Lease) LogValue() slog.Value { return slog.AnyValue(l.withoutSecret()) }

// withoutSecret returns the lease without its secret, as a type without methods.
func (l Lease) withoutSecret() any {
	type lease = Lease
	type Lease lease // the name that %#v prints
	l.Secret = redact.Secret(l.Secret)
	return Lease(l)
}
