// SPDX-License-Identifier: Apache-2.0

package token

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/newer"
	"golang.org/x/time/rate"
)

// Authority makes and checks tokens. It is safe for concurrent use.
type Authority struct {
	store   store.Store
	watch   *revision.Watch
	options Options
	fixed   *hash // of Options.Admin
	seen    cache
	marks   marker
	lookups *rate.Limiter // of tokens that are not marked
	marked  *rate.Limiter // of tokens that are, but are not known
}

// New returns an Authority. It uses the store and the watch, which the caller
// closes after the last call.
func New(s store.Store, w *revision.Watch, o Options) (*Authority, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	limiter := func() *rate.Limiter { return rate.NewLimiter(rate.Limit(o.Lookups), o.Lookups) }
	a := &Authority{store: s, watch: w, options: o, lookups: limiter(), marked: limiter()}
	if o.Admin != "" {
		h := hashOf(o.Admin)
		a.fixed = &h
	}
	return a, nil
}

// Identity has the rights of a token, and the key to which it belongs.
type Identity struct {
	Admin  bool
	Worker bool   // a worker, which may register with controllers and do nothing else
	Global bool   // the deployed worker's token for all keys that allow it
	Key    string // the key that the token is for; "" for an admin's and a worker's
	Hash   [32]byte
}

// Check returns the identity of a token, or [ErrInvalid], [ErrExpired], [ErrBusy] or the
// store's error. A valid token is looked up in the store the first time, after each new
// revision, and once a minute; the token of [Options] never is.
func (a *Authority) Check(ctx context.Context, text string) (Identity, error) {
	h, id, err := a.recognize(text)
	if err != nil || id.Admin {
		return id, err
	}
	current, err := a.watch.Current(ctx)
	if err != nil {
		return Identity{}, fmt.Errorf("token: %w", err)
	}
	known, ok := a.seen.get(h)
	if !ok || !known.isFresh(current, a.options.Now()) {
		known, err = a.refresh(ctx, text, h, current, ok)
	}
	return known.answer(a.options.Now(), err)
}

// CheckLast is Check while the store answers. While it does not, CheckLast accepts tokens that
// it knows, for [revision.Options.Outage]. Outage reports that the token may have been reset
// since.
func (a *Authority) CheckLast(ctx context.Context, text string) (id Identity, outage bool, err error) {
	h, id, err := a.recognize(text)
	if err != nil || id.Admin {
		return id, false, err
	}
	at, err := a.watch.Last(ctx)
	if err != nil {
		return Identity{}, false, fmt.Errorf("token: %w", err)
	}
	now := a.options.Now()
	known, ok := a.seen.get(h)
	switch {
	case !ok || known.revision != at.Revision:
		id, err = a.Check(ctx, text)
		return id, false, err
	case at.Outage != nil:
	case !known.isFresh(at.Revision, now):
		known, outage, err = a.refreshOrKeep(ctx, text, h, known)
	}
	id, err = known.answer(now, err)
	return id, outage || at.Outage != nil, err
}

// refreshOrKeep is refresh for a token that is known at the present revision. It waits for the
// store no longer than a revision is valid; without an answer it returns the token as it is
// known, and that there is an outage.
func (a *Authority) refreshOrKeep(ctx context.Context, text string, h hash, known cachedToken) (_ cachedToken, outage bool, err error) {
	inTime, cancel := context.WithTimeout(ctx, a.watch.Options().Validity)
	defer cancel()
	found, err := a.refresh(inTime, text, h, known.revision, true)
	noAnswer := revision.IsOutage(err) && !errors.Is(err, ErrInvalid) && ctx.Err() == nil
	if noAnswer && known.isKept(known.revision, a.options.Now(), a.watch.Options().Outage) {
		return known, true, nil
	}
	return found, false, err
}

// recognize returns the hash of a token, and the identity if it is the token of the options.
func (a *Authority) recognize(text string) (h hash, id Identity, err error) {
	if text == "" || len(text) > maxText {
		return h, id, ErrInvalid
	}
	h = hashOf(text)
	if a.fixed != nil && subtle.ConstantTimeCompare(h[:], a.fixed[:]) == 1 {
		id = Identity{Admin: true, Hash: h}
	}
	return h, id, nil
}

// refresh looks a token up, and remembers it. Current is the revision before the call; known
// says that the token was looked up at some time.
func (a *Authority) refresh(ctx context.Context, text string, h hash, current int64, known bool) (cachedToken, error) {
	isMarked := a.isMarked(ctx, text)
	if !known && !a.allowLookup(isMarked) {
		return cachedToken{}, ErrBusy
	}
	now := a.options.Now()
	found, err := a.lookUp(ctx, h)
	found.revision, found.read = current, now // both from before the read
	switch {
	case errors.Is(err, ErrInvalid) && isMarked:
		found.invalid = true // it was reset: it does not use up the lookups of others
	case errors.Is(err, ErrInvalid):
		a.seen.remove(h)
		return cachedToken{}, err
	case err != nil:
		return cachedToken{}, err
	}
	a.seen.put(h, found)
	return found, nil
}

// allowLookup counts a lookup of a token that is not known, or refuses it. Guesses do not use up
// the lookups of marked tokens.
func (a *Authority) allowLookup(isMarked bool) bool {
	if isMarked {
		return a.marked.Allow()
	}
	return a.lookups.Allow()
}

// lookUp reads the token from the store.
func (a *Authority) lookUp(ctx context.Context, h hash) (cachedToken, error) {
	key, err := a.readIndex(ctx, h)
	if err != nil {
		return cachedToken{}, err
	}
	r, err := a.readRecord(ctx, key)
	if err != nil {
		return cachedToken{}, err
	}
	e := r.findEntry(h)
	if e == nil {
		return cachedToken{}, ErrInvalid
	}
	return cachedToken{expires: e.Expires, identity: identityOf(key, h)}, nil
}

// readIndex reads the key of a token.
func (a *Authority) readIndex(ctx context.Context, h hash) (string, error) {
	d, err := a.store.Get(ctx, store.Tokens, h.indexKey())
	if errors.Is(err, store.ErrNotFound) {
		return "", ErrInvalid
	}
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	var p pointer
	if err := newer.Unmarshal(d.Value, &p); err != nil || p.Key == "" {
		return "", &store.CorruptError{Where: "index of the token " + d.Key, Reason: "it names no key", Err: err}
	}
	return p.Key, nil
}

// readRecord reads the record of a key; one without tokens if there is none.
func (a *Authority) readRecord(ctx context.Context, key string) (record, error) {
	d, err := a.store.Get(ctx, store.Tokens, key)
	if errors.Is(err, store.ErrNotFound) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("token: %w", err)
	}
	return decodeRecord(d)
}

func identityOf(key string, h hash) Identity {
	switch key {
	case adminKey:
		return Identity{Admin: true, Hash: h}
	case workerKey:
		return Identity{Worker: true, Hash: h}
	case globalKey:
		return Identity{Global: true, Hash: h}
	}
	return Identity{Key: key, Hash: h}
}

// randomText returns 256 random bits with their mark as text.
func (a *Authority) randomText(ctx context.Context) (string, error) {
	secret, err := a.ensureSecret(ctx)
	if err != nil {
		return "", err
	}
	var b [32]byte
	rand.Read(b[:]) // does not fail
	return markedText(secret, b[:]), nil
}

// Format implements [fmt.Formatter]: an authority prints nothing of its own.
func (a *Authority) Format(f fmt.State, _ rune) { fmt.Fprint(f, "token.Authority") }

// LogValue implements [slog.LogValuer].
func (a *Authority) LogValue() slog.Value { return slog.StringValue("token.Authority") }

// List returns the tokens that are stored and have not expired, in the order of their
// keys. The admin token of the options is not stored. Tokens of a key that cannot be read hide
// no others: then List returns these with an error that joins one for each such key, of which
// [store.IsUnreadable] is true. After another error the list is not complete.
func (a *Authority) List(ctx context.Context) (list []Info, err error) {
	const page = 1000
	var unread []error
	for after := "#~"; ; { // after the indexes, the keys of which are # and hexadecimal digits
		documents, err := a.store.List(ctx, store.Tokens, store.ListOptions{After: after, Limit: page})
		if err != nil {
			return list, fmt.Errorf("token: %w", errors.Join(append(unread, err)...))
		}
		for _, d := range documents {
			after = d.Key
			infos, err := a.infosOf(d)
			if err != nil {
				unread = append(unread, err)
			}
			list = append(list, infos...)
		}
		if len(documents) < page {
			return list, errors.Join(unread...)
		}
	}
}

// infosOf returns descriptions of the tokens of a document.
func (a *Authority) infosOf(d store.Document) (list []Info, err error) {
	if d.Key == markKey {
		return nil, nil
	}
	r, err := decodeRecord(d)
	if err != nil {
		return nil, err
	}
	key, isWorker := d.Key, d.Key == workerKey
	if key == adminKey || isWorker {
		key = ""
	}
	for _, e := range r.Tokens {
		if e.isValid(a.options.Now()) {
			list = append(list, Info{key, isWorker, e.Created, e.Expires})
		}
	}
	return list, nil
}

// Info describes a stored token, without its text.
type Info struct {
	Key     string // "" for a token of admins or workers, [GlobalKey] for the one of all keys
	Worker  bool   // a token of workers
	Created time.Time
	Expires time.Time // zero: it does not expire
}

// maxSeen bounds the tokens that a process remembers.
const maxSeen = 200_000

// maxAge is how long a process uses a token without reading it again, if the revision
// stays the same. A process that crashes between a reset and its announcement leaves the
// revision as it was: others accept the old token for no longer than this.
const maxAge = time.Minute

// cache remembers tokens that were looked up and found.
type cache struct {
	mu      sync.RWMutex
	entries map[hash]cachedToken
}

// cachedToken is a token as it was read from the store.
type cachedToken struct {
	identity Identity
	revision int64
	read     time.Time // by the Authority's clock
	expires  time.Time // zero: never
	invalid  bool      // the service made it, but it was reset
}

// isFresh reports whether the token need not be read again.
func (c cachedToken) isFresh(revision int64, now time.Time) bool {
	return c.isKept(revision, now, 0)
}

// isKept reports whether the token may be used if the store does not answer, for so long.
func (c cachedToken) isKept(revision int64, now time.Time, outage time.Duration) bool {
	age, most := now.Sub(c.read), maxAge
	if c.invalid {
		most = time.Second // an answer of the store may come after one that says that the outcome is unknown
	}
	return c.revision == revision && age >= 0 && age < most+outage
}

// answer returns the identity of the token if there is no error and it has not expired.
func (c cachedToken) answer(now time.Time, err error) (Identity, error) {
	if err != nil {
		return Identity{}, err
	}
	if c.invalid {
		return Identity{}, ErrInvalid
	}
	if !c.expires.IsZero() && !now.Before(c.expires) {
		return c.identity, ErrExpired
	}
	return c.identity, nil
}

func (c *cache) get(h hash) (cachedToken, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[h]
	return e, ok
}

// put remembers a token. A full cache forgets a hundredth of the others, at random.
func (c *cache) put(h hash, e cachedToken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[hash]cachedToken{}
	}
	if len(c.entries) >= maxSeen {
		c.removeOldest()
	}
	c.entries[h] = e
}

func (c *cache) removeOldest() {
	for h := range c.entries {
		delete(c.entries, h)
		if len(c.entries) <= maxSeen-maxSeen/100 {
			return
		}
	}
}

func (c *cache) remove(h hash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, h)
}
