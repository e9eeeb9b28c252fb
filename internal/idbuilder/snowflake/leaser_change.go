// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/lease"
)

// CheckChange reports whether IDs of the layout next could equal IDs that are, or
// were, made with the key's layouts so far, of which old is the last: a
// [*ChangeError], which says until when.
// It uses the present leases. A client that leases a worker id in the meantime moves that
// time; [Leaser.Change] checks again.
func (l *Leaser) CheckChange(ctx context.Context, name string, old, next Layout) error {
	if err := next.Validate(); err != nil || old == next {
		return err
	}
	_, r, err := l.readRoot(ctx, name)
	if err != nil {
		return err
	}
	for i := range r.Layouts {
		if err := l.checkRepeats(ctx, name, &r.Layouts[i], next); err != nil {
			return err
		}
	}
	return nil
}

// checkRepeats returns a [*ChangeError] if IDs of the layout next could equal IDs
// of the layout before. It records until when those are made.
func (l *Leaser) checkRepeats(ctx context.Context, name string, before *layoutState, next Layout) error {
	now := l.options.Now()
	if before.Layout == next {
		return nil // one worker id has one client at a time in both
	}
	if before.Held == 0 {
		_, held, err := l.countLeases(ctx, prefixOf(name, before.Layout), before.shardWidth())
		if err != nil {
			return err
		}
		before.Held = latest(held, now).UnixMilli()
	}
	if until := before.NoRepeatsFrom(next, time.UnixMilli(before.Held)); until.IsZero() || until.After(now) {
		return &ChangeError{Key: name, Until: until}
	}
	return nil
}

// Change puts the layout of a key in force: it ends the granting of
// worker ids in all layouts before, and returns a [*ChangeError] as long as IDs
// made with those could come again. With force it accepts that they may. Call
// it when all workers know the new configuration. [Leaser.Lease] does the same, without
// force, and fails while it is not safe.
func (l *Leaser) Change(ctx context.Context, key Key, force bool) error {
	_, err := l.openSpace(ctx, key, force)
	return err
}

// openSpace returns the space of a key and layout once the layout is in force.
func (l *Leaser) openSpace(ctx context.Context, key Key, force bool) (*space, error) {
	l.mu.Lock()
	s := l.spaces[key.Name]
	l.mu.Unlock()
	if s != nil && s.layout == key.Layout && s.version >= key.Version {
		return s, nil
	}
	if err := errors.Join(store.CheckName(key.Name), key.Layout.Validate()); err != nil {
		return nil, err
	}
	unlock, err := l.documents.locks.lock(ctx, keyID(key.Name))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := l.placeLayout(ctx, key, force); err != nil {
		return nil, err
	}
	return l.rememberSpace(key), nil
}

func (l *Leaser) rememberSpace(key Key) *space {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.spaces[key.Name]
	if s == nil || s.layout != key.Layout || s.version < key.Version {
		s = newSpace(key)
		l.spaces[key.Name] = s
	}
	return s
}

// forgetSpace makes the next call read the layouts again.
func (l *Leaser) forgetSpace(s *space) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spaces[s.key] == s {
		delete(l.spaces, s.key)
	}
}

// placeLayout puts the layout of a key in force in the store, unless it is already.
func (l *Leaser) placeLayout(ctx context.Context, key Key, force bool) error {
	return l.changeRoot(ctx, key.Name, func(r *root) (bool, error) { return l.stepTowardsLayout(ctx, r, key, force) })
}

// changeRoot stores the document of a key after each step, until a step reports that nothing
// is left to do.
func (l *Leaser) changeRoot(ctx context.Context, name string, step func(*root) (done bool, err error)) error {
	for n := range attempts {
		doc, r, err := l.readRoot(ctx, name)
		if err != nil {
			return err
		}
		done, err := step(r)
		if done || err != nil {
			return err
		}
		if doc.Value, err = json.Marshal(r); err != nil {
			return err
		}
		if _, err := l.documents.store.Put(ctx, store.Leases, doc); err == nil {
			continue
		} else if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("snowflake: key %q: %w", name, err)
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
	return errContended
}

// stepTowardsLayout reports whether the layout is in force. If not, it changes r, which the
// caller stores, by the next step towards that.
func (l *Leaser) stepTowardsLayout(ctx context.Context, r *root, key Key, force bool) (done bool, err error) {
	switch {
	case len(r.Layouts) == 0:
		r.replaceLayout(key)
	case r.currentLayout().Layout != key.Layout && r.currentLayout().Version >= key.Version:
		return false, fmt.Errorf("%w: version %d of key %q is older than version %d", ErrStale, key.Version, key.Name, r.currentLayout().Version)
	case r.currentLayout().Layout != key.Layout:
		r.replaceLayout(key)
	case !r.currentLayout().Ready:
		if err := l.endEarlierLayouts(ctx, r, key, force); err != nil {
			return false, err
		}
		r.currentLayout().Ready = true
	case r.currentLayout().Version < key.Version:
		r.currentLayout().Version = key.Version
	default:
		return true, nil
	}
	return false, nil
}

// endEarlierLayouts ends the granting in the layouts before, and checks that none of their
// IDs can come again.
func (l *Leaser) endEarlierLayouts(ctx context.Context, r *root, key Key, force bool) error {
	for i := range r.Layouts[:len(r.Layouts)-1] {
		before := &r.Layouts[i]
		if err := l.documents.changePages(ctx, prefixOf(key.Name, before.Layout), closeAt(key.Version)); err != nil {
			return err
		}
		var repeats *ChangeError
		if err := l.checkRepeats(ctx, key.Name, before, key.Layout); err != nil && !(force && errors.As(err, &repeats)) {
			return err
		}
	}
	return l.documents.changePages(ctx, prefixOf(key.Name, key.Layout), openAt(key.Version)) // the layout may have been in force before
}

// readRoot reads the document of a key.
func (l *Leaser) readRoot(ctx context.Context, name string) (store.Document, *root, error) {
	doc, err := l.documents.store.Get(ctx, store.Leases, keyID(name))
	if errors.Is(err, store.ErrNotFound) {
		return store.Document{Key: keyID(name)}, &root{Format: rootFormat, Key: name}, nil
	}
	if err != nil {
		return doc, nil, fmt.Errorf("snowflake: key %q: %w", name, err)
	}
	r, err := decodeRoot(doc)
	return doc, r, err
}

// decodeRoot reads the value of the document of a key.
func decodeRoot(doc store.Document) (*root, error) {
	r := &root{}
	if err := unmarshal(doc, &r.Format, rootFormat, r); err != nil {
		return nil, err
	}
	if keyID(r.Key) != doc.Key || len(r.Layouts) == 0 {
		return nil, corrupt(doc, fmt.Sprintf("it has the format %d and %d layouts of the key %q", r.Format, len(r.Layouts), r.Key), nil)
	}
	return r, nil
}

// admitDocument reports whether a document may get its first leases: whether its layout is
// in force, and its key not in quarantine.
func (l *Leaser) admitDocument(ctx context.Context, service string) error {
	id, shard, _ := strings.Cut(service, ".")
	doc, err := l.documents.store.Get(ctx, store.Leases, id)
	if errors.Is(err, store.ErrNotFound) {
		return errClosed // the store has lost it: the caller puts the layout in force again
	}
	if err != nil {
		return fmt.Errorf("snowflake: leases %q: %w", service, err)
	}
	r, err := decodeRoot(doc)
	if err != nil {
		return err
	}
	if now := r.currentLayout(); !now.Ready || !strings.HasPrefix(shard, now.hash()+"-") {
		return errClosed
	}
	if until := time.UnixMilli(r.Quarantine); until.After(l.options.Now()) {
		return &QuarantineError{ServiceID: r.Key, Until: until}
	}
	return nil
}

// Quarantine grants no worker id of a key until all leases have ended that the
// store may have lost: call it after an operator confirmed a loss. Leases that cannot be read are
// named in the error, after the quarantine of all others has begun.
func (l *Leaser) Quarantine(ctx context.Context, key Key) error {
	s, err := l.openSpace(ctx, key, false)
	if err != nil {
		return err
	}
	until := l.options.Now().Add(l.options.Hold + lease.DefaultSkew).UnixMilli()
	err = l.changeRoot(ctx, key.Name, func(r *root) (bool, error) {
		done := r.Quarantine >= until
		r.Quarantine = max(r.Quarantine, until)
		return done, nil
	})
	if err != nil {
		return err
	}
	var unread []error // of these, and of these alone, no worker id is leased anyway
	for doc, err := range l.documents.all(ctx, s.prefix) {
		if err == nil {
			err = l.quarantineDocument(ctx, s, doc.Key)
		}
		switch {
		case err == nil:
		case IsUnreadable(err):
			unread = append(unread, err)
		default:
			return fmt.Errorf("snowflake: key %q: %w", key.Name, errors.Join(append(unread, err)...))
		}
	}
	if len(unread) > 0 {
		return fmt.Errorf("snowflake: key %q: %w", key.Name, errors.Join(unread...))
	}
	return nil
}

// quarantineDocument begins the quarantine of a document, or, if it has no pairs, makes a
// transaction fail that was admitted before the key's own quarantine began.
func (l *Leaser) quarantineDocument(ctx context.Context, s *space, service string) error {
	if err := l.documents.changePage(ctx, service, func(p *page) bool { return len(p.pairs) == 0 }); err != nil {
		return err
	}
	_, err := l.long[s.layout.shardWidth()].Quarantine(ctx, service, 0)
	if errors.Is(err, lease.ErrQuarantine) {
		return nil // there still are no pairs
	}
	return err
}

// Active returns how many worker ids of the key are leased: those of clients that
// ask again, and those kept for clients that may not. Leases that cannot be read hide no
// others: then Active counts these, and returns an error that joins one for each that it has passed over;
// see [IsUnreadable].
func (l *Leaser) Active(ctx context.Context, key Key) (int, error) {
	n, _, err := l.countLeases(ctx, prefixOf(key.Name, key.Layout), key.Layout.shardWidth())
	return n, err
}

// IsUnreadable reports whether an error says of leases that they cannot be read: they are damaged, or a
// newer version wrote them.
func IsUnreadable(err error) bool { return store.IsUnreadable(err) || lease.IsUnreadable(err) }

// countLeases returns the number of leases in the documents with a prefix, and the end of
// the last one. It passes over what cannot be read, which the error says.
func (l *Leaser) countLeases(ctx context.Context, prefix string, bits int) (n int, held time.Time, err error) {
	var unread []error
	for doc, err := range l.documents.all(ctx, prefix) {
		if err != nil {
			return n, held, errors.Join(append(unread, err)...)
		}
		listed, err := l.listLeases(ctx, doc, bits)
		if err != nil && !IsUnreadable(err) {
			return n, held, errors.Join(append(unread, err)...)
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("snowflake: leases %q: %w", doc.Key, err))
		}
		n += len(listed)
		for _, info := range listed {
			held = latest(held, info.Expired)
		}
	}
	return n, held, errors.Join(unread...)
}

// listLeases returns the leases in a document, with an error even if only some cannot be read.
func (l *Leaser) listLeases(ctx context.Context, doc store.Document, bits int) ([]lease.Info, error) {
	p, err := decodePage(doc)
	if err != nil {
		return nil, err
	}
	server, err := lease.NewServer(snapshot{page: p, now: l.options.Now()}, lease.Options{
		Default: lease.ServiceConfig{Layout: shardLayout(bits), Plain: true}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	listed, err := server.List(ctx, "", lease.ListOptions{})
	return listed.Leases, err
}

// snapshot is a [lease.Store] to read a page.
type snapshot struct {
	page *page
	now  time.Time
}

// Update implements [lease.Store]; it stores nothing.
func (s snapshot) Update(_ context.Context, _ string, fn func(lease.Tx) error) error {
	return fn(&transaction{now: s.now, pairs: s.page.pairs})
}

// Services implements [lease.Store].
func (snapshot) Services(context.Context, string, int) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// root is the document of a key: the layouts in which worker ids were leased. The last one
// is in force.
type root struct {
	Format  int           `json:"format"`
	Key     string        `json:"key"`
	Layouts []layoutState `json:"layouts"`
	// Quarantine is until when documents without pairs get none, in Unix milliseconds.
	Quarantine int64 `json:"quarantine,omitempty"`
}

// layoutState is a layout of a key.
type layoutState struct {
	Layout
	Version int64 `json:"version"`
	// Ready says that no ID of an earlier layout can come again.
	Ready bool `json:"ready,omitempty"`
	// Held is the end of the last lease of a replaced layout, in Unix milliseconds; 0: the
	// layout was not replaced.
	Held int64 `json:"held,omitempty"`
}

const rootFormat = 1

// keyID names a key in the keys of documents, which have fewer characters.
func keyID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

func (r *root) currentLayout() *layoutState { return &r.Layouts[len(r.Layouts)-1] }

// replaceLayout makes a layout the last one.
func (r *root) replaceLayout(key Key) {
	layouts := r.Layouts[:0:0]
	for _, p := range r.Layouts {
		if p.Layout != key.Layout {
			layouts = append(layouts, p)
		}
	}
	r.Layouts = append(layouts, layoutState{Layout: key.Layout, Version: key.Version, Ready: len(layouts) == 0})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
