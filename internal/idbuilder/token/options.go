// SPDX-License-Identifier: Apache-2.0

package token

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Options configure an Authority.
type Options struct {
	// Admin is an admin token that the operator chose, in addition to those that are
	// stored: 16 to 512 printable ASCII characters, of at least 8 kinds, without a
	// space at an end. Make it of random bits, such as `openssl rand -base64 32` does: what is stored of key
	// tokens lets a reader of the store try out guesses. Empty: there is none.
	Admin string
	// Expiry is how long a key token is valid, rounded up to seconds. The default value is
	// 30 days; at least a second; negative: it does not expire.
	Expiry time.Duration
	// Lookups bounds the lookups of unknown tokens in the store a second, so that guesses do
	// not load it. Tokens that the service made have a bound of their own, of the same size. The
	// default value is 1000.
	Lookups int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Bounds of admin tokens.
const (
	minAdmin   = 16
	minKinds   = 8
	maxText    = 512 // bytes of any token that is checked
	suggestion = "make one with `openssl rand -base64 32`"
)

// published has the admin tokens in the deployed worker's files.
var published = []string{"admin_change_me_in_production", "dev_admin_token_12345"}

// Validate reports all that is wrong with the options, by their names in the options of a worker.
func (o Options) Validate() error {
	var faults []error
	if o.Admin != "" {
		faults = append(faults, checkAdmin(o.Admin))
	}
	if o.Expiry > 0 && o.Expiry < time.Second {
		faults = append(faults, fmt.Errorf("idbuilder: TokenExpiry is %v; allowed are a second and more, 0 for 30 days, and negative values for never", o.Expiry))
	}
	if o.Lookups < 0 {
		faults = append(faults, fmt.Errorf("idbuilder: TokenLookups is %d, it cannot be negative", o.Lookups))
	}
	return errors.Join(faults...)
}

// checkAdmin refuses admin tokens that can be guessed, or that no header can
// carry. The error does not repeat the token.
func checkAdmin(admin string) error {
	kinds := map[rune]bool{}
	for _, c := range admin {
		kinds[c] = true
	}
	switch {
	case slices.Contains(published, admin):
		return errors.New("token: the admin token is one that the deployed worker's files publish; " + suggestion)
	case len(admin) < minAdmin || len(admin) > maxText:
		return fmt.Errorf("token: the admin token has %d bytes; allowed are %d to %d; %s", len(admin), minAdmin, maxText, suggestion)
	case strings.ContainsFunc(admin, func(c rune) bool { return c < ' ' || c > '~' }), strings.TrimSpace(admin) != admin, strings.HasPrefix(strings.ToLower(admin), "bearer "):
		return errors.New("token: the admin token begins with Bearer, begins or ends with a space, or has a character that is not printable ASCII, so that no header can carry it; " + suggestion)
	case len(kinds) < minKinds:
		return fmt.Errorf("token: the admin token has %d different characters, at least %d are needed; %s", len(kinds), minKinds, suggestion)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Expiry == 0 {
		o.Expiry = 30 * 24 * time.Hour
	}
	if o.Lookups == 0 {
		o.Lookups = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// expiry returns when a key token that is made now expires; zero: never.
func (o Options) expiry() time.Time {
	if o.Expiry < 0 {
		return time.Time{}
	}
	return o.Now().Add(o.Expiry + time.Second - 1).UTC().Truncate(time.Second)
}

// Format implements [fmt.Formatter]: the admin token is left out.
func (o Options) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, o.withoutSecret())
}

// LogValue implements [slog.LogValuer]: the admin token is left out.
func (o Options) LogValue() slog.Value { return slog.AnyValue(o.withoutSecret()) }

// withoutSecret returns the options without the admin token, as a type without methods.
func (o Options) withoutSecret() any {
	type options = Options
	type Options options // the name that %#v prints
	o.Admin = redact.Secret(o.Admin)
	o.Now = nil
	return Options(o)
}

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

var (
	// ErrInvalid says that the token is unknown, or was reset.
	ErrInvalid = errors.New("token: unknown, or reset since")
	// ErrExpired says that the token has expired.
	ErrExpired = errors.New("token: expired")
	// ErrBusy says that there are too many unknown tokens to look all of them up.
	ErrBusy = errors.New("token: too many unknown tokens are presented")
	// ErrKey says that the key cannot have tokens: it is reserved, or not well-formed.
	ErrKey = errors.New("token: no key of IDs")
)
