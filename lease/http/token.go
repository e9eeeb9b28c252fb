// SPDX-License-Identifier: Apache-2.0

package http

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Token is a bearer token, and what its bearer may do.
type Token struct {
	// Name is for people; two tokens do not share one.
	Name string
	// Secret is what the bearer presents: at least 16 characters, random.
	Secret string
	// Services are those that may be leased for; nil means every one. A list that is empty
	// and not nil is refused: it would permit all where it looks like none.
	Services []string
	// MaxThroughputPerMs bounds one request; 0 means as the provider does.
	MaxThroughputPerMs int
	// MaxLeasedPerMs bounds the throughput of all leases of a service together
	// that were granted to tokens of this name and have neither ended nor been
	// released; 0 means no bound. The account is in the store of the leases, so
	// it holds for all servers of that store; see [lease.Budget]. The last lease
	// may pass it, since a lease can be larger than what was asked for. A lease
	// counts for up to a thirtieth of its length after its end. Leases that others
	// replace do not count until they are given back, but as much again is their bound:
	// see [idgen.AcquireRequest].
	MaxLeasedPerMs int
	// List permits GET /leases.
	List bool
}

// minSecret is the length of the shortest secret.
const minSecret = 16

func (t Token) validate() error {
	if len(t.Secret) < minSecret || strings.ContainsFunc(t.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("lease/http: the secret of token %q must have at least %d characters, all printable ASCII without spaces", t.Name, minSecret)
	}
	if t.Services != nil && len(t.Services) == 0 {
		return fmt.Errorf("lease/http: token %q: the list of its services is empty; name those that it may lease for, or leave the list out if it may lease for every one", t.Name)
	}
	if t.MaxThroughputPerMs < 0 || t.MaxLeasedPerMs < 0 {
		return fmt.Errorf("lease/http: token %q: MaxThroughputPerMs is %d and MaxLeasedPerMs %d; they must not be negative", t.Name, t.MaxThroughputPerMs, t.MaxLeasedPerMs)
	}
	return nil
}

// Format implements [fmt.Formatter]: a token prints like any struct, except that
// its secret is left out.
func (t Token) Format(f fmt.State, verb rune) { redact.Format(f, verb, t.withoutSecret()) }

// LogValue implements [slog.LogValuer]: a token is logged without its secret.
func (t Token) LogValue() slog.Value { return slog.AnyValue(t.withoutSecret()) }

// withoutSecret returns the token without its secret, as a type without methods.
func (t Token) withoutSecret() any {
	type token = Token
	type Token token // the name that %#v prints
	t.Secret = redact.Secret(t.Secret)
	return Token(t)
}
