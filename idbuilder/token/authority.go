// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/kazahana-db/kazahana/idbuilder/revision"
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Options configure an Authority.
type Options struct {
	// Admin is an admin token that the operator chose, beside those that are
	// stored; at least 16 bytes. Empty: there is none.
	Admin string
	// Expiry is how long a key token is valid. The default value is 30 days; negative: it
	// does not expire.
	Expiry time.Duration
	// Lookups bounds how many tokens a second are looked up in the store that this process
	// has not seen; the default value is 1000.
	Lookups int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// deployedDefault is the constant admin token that the deployed worker comes with.
const deployedDefault = "admin_change_me_in_production"

// Validate reports all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	switch {
	case o.Admin == deployedDefault:
		faults = append(faults, errors.New("token: the admin token is the one that the deployed worker's documentation publishes; choose another one, such as `openssl rand -base64 32` makes"))
	case o.Admin != "" && len(o.Admin) < 16:
		faults = append(faults, fmt.Errorf("token: the admin token has %d bytes, at least 16 are needed", len(o.Admin)))
	}
	if o.Lookups < 0 {
		faults = append(faults, fmt.Errorf("token: Lookups is %d, it cannot be negative", o.Lookups))
	}
	return errors.Join(faults...)
}

// Authority makes and checks tokens. It is safe for concurrent use.
type Authority struct {
	store   store.Store
	watch   *revision.Watch
	options Options
	fixed   *hash // of Options.Admin
	seen    cache
	lookups *rate.Limiter
}

// New returns an Authority.
func New(s store.Store, w *revision.Watch, o Options) (*Authority, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Expiry == 0 {
		o.Expiry = 30 * 24 * time.Hour
	}
	if o.Lookups == 0 {
		o.Lookups = 1000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Authority{store: s, watch: w, options: o, lookups: rate.NewLimiter(rate.Limit(o.Lookups), o.Lookups)}
	if o.Admin != "" {
		h := hashOf(o.Admin)
		a.fixed = &h
	}
	return a, nil
}

// Identity is who presents a token.
type Identity struct {
	Admin  bool
	Global bool   // the deployed worker's token for all keys that allow it
	Key    string // the key that the token is for; "" for an admin's
	Hash   [32]byte
}

// Check returns whose token it is: [ErrInvalid], [ErrExpired], [ErrBusy], or the
// store's error otherwise.
func (a *Authority) Check(ctx context.Context, text string) (Identity, error) {
	h := hashOf(text)
	if a.fixed != nil && subtle.ConstantTimeCompare(h[:], a.fixed[:]) == 1 {
		return Identity{Admin: true, Hash: h}, nil
	}
	now, err := a.watch.Current(ctx)
	if err != nil {
		return Identity{}, err
	}
	if c, ok := a.seen.get(h, now); ok {
		return c.identity, c.check(a.options.Now())
	}
	return a.lookUp(ctx, h, now)
}

// lookUp reads the token from the store.
func (a *Authority) lookUp(ctx context.Context, h hash, revision int64) (Identity, error) {
	if !a.lookups.Allow() {
		return Identity{}, ErrBusy
	}
	var p pointer
	if err := a.read(ctx, h.index(), func(d store.Document) error { return json.Unmarshal(d.Value, &p) }); err != nil {
		return Identity{}, err
	}
	var r record
	if err := a.read(ctx, p.Key, func(d store.Document) (err error) {
		r, err = decodeRecord(d)
		return err
	}); err != nil {
		return Identity{}, err
	}
	e := r.find(h)
	if e == nil {
		return Identity{}, ErrInvalid
	}
	c := cached{revision: revision, expires: e.Expires, identity: identityOf(p.Key, h)}
	a.seen.put(h, c)
	return c.identity, c.check(a.options.Now())
}

func (a *Authority) read(ctx context.Context, key string, decode func(store.Document) error) error {
	d, err := a.store.Get(ctx, store.Tokens, key)
	if errors.Is(err, store.ErrNotFound) {
		return ErrInvalid
	}
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	return decode(d)
}

func identityOf(key string, h hash) Identity {
	switch key {
	case adminKey:
		return Identity{Admin: true, Hash: h}
	case globalKey:
		return Identity{Global: true, Hash: h}
	}
	return Identity{Key: key, Hash: h}
}

// random returns 256 random bits as text.
func random() string {
	var b [32]byte
	rand.Read(b[:]) // does not fail
	return base64.RawURLEncoding.EncodeToString(b[:])
}
