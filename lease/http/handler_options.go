// SPDX-License-Identifier: Apache-2.0

package http

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// The defaults of [HandlerOptions].
const (
	DefaultMaxBody = 16 << 10
	DefaultTimeout = 10 * time.Second
)

// HandlerOptions configure a [Handler].
type HandlerOptions struct {
	// Tokens permit clients to lease. There must be one, unless Anonymous is set.
	Tokens []Token
	// Anonymous serves clients without a token, within no bounds but the
	// provider's. For a network in which every client may lease. Pages of other
	// sites, in a browser on the server's machine or in that network, may not: see
	// Hosts.
	Anonymous bool
	// Hosts are values of the header Host, host:port, with which requests without a
	// token may come to a loopback address, besides loopback addresses and localhost:
	// those that a proxy on the server's machine sends. Others are refused, since a
	// site could point its name at this machine (DNS rebinding). At other addresses
	// each Host is answered.
	Hosts []string
	// Lister answers GET /leases, and GET /services if it is an [Enumerator]; nil
	// means the provider, if it is one.
	Lister Lister
	// MaxBody bounds the body of a request in bytes; 0 means 16 KiB.
	MaxBody int64
	// Timeout bounds a call of the provider; 0 means 10 s.
	Timeout time.Duration
	// Logger gets the errors whose text clients are not told: those of the
	// store. nil discards them.
	Logger *slog.Logger
}

// Validate reports everything that is wrong with the options.
func (o HandlerOptions) Validate() error {
	var faults []error
	if len(o.Tokens) == 0 && !o.Anonymous {
		faults = append(faults, errors.New("lease/http: there is no token, so no client could lease; set Anonymous if every client may"))
	}
	names, owners := map[string]bool{}, map[string]string{}
	for _, t := range o.Tokens {
		faults = append(faults, t.validate())
		if owner, known := owners[t.Secret]; known && t.Secret != "" {
			faults = append(faults, fmt.Errorf("lease/http: the tokens %q and %q have the same secret, so a request could not tell which one it bears", owner, t.Name))
		}
		owners[t.Secret] = t.Name
		if names[t.Name] {
			faults = append(faults, fmt.Errorf("lease/http: two tokens are named %q", t.Name))
		}
		names[t.Name] = true
	}
	if slices.Contains(o.Hosts, "") {
		faults = append(faults, errors.New("lease/http: one of Hosts is empty"))
	}
	if o.MaxBody < 0 || o.Timeout < 0 {
		faults = append(faults, fmt.Errorf("lease/http: MaxBody is %d and Timeout %v; they must not be negative", o.MaxBody, o.Timeout))
	}
	return errors.Join(faults...)
}

// LogValue implements [slog.LogValuer]: options are logged without the secrets of
// the tokens.
func (o HandlerOptions) LogValue() slog.Value {
	type plain HandlerOptions
	o.Tokens = slices.Clone(o.Tokens)
	for i := range o.Tokens {
		o.Tokens[i].Secret = redact.Text
	}
	return slog.AnyValue(plain(o))
}
