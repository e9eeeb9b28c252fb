// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

var metadataVersionKey = []byte(kv.MetadataVersionKey)

// lastKnown returns the store at a place as the DB last read it, nil if it never
// did. An operation starts its reads there and then calls openStore, or one of its
// variants, which confirms by the metadata version that the store has not
// changed. lastKnown starts the read of that version, so that all reads are one
// round. If openStore returns another store, the operation must start its reads
// again there, and use none of the first.
func (t *transaction) lastKnown(p *place) *openStore {
	known := p.known.Load()
	if known != nil {
		t.askMetadataVersion()
	}
	return known
}

// askMetadataVersion starts the read of the metadata version, once, where this
// transaction cannot have written it: in one that only reads, and in that of a single
// operation which has opened no place yet.
func (t *transaction) askMetadataVersion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked && (t.isReadOnly() || t.untouched) {
		t.asked, t.metadata = true, t.Reader.Snapshot().Get(metadataVersionKey)
	}
}

// takeMetadataVersion returns the read that askMetadataVersion started, if there is
// one and it may still be used.
func (t *transaction) takeMetadataVersion() (version kv.Future[[]byte], ok bool) {
	if !t.asked || !t.isReadOnly() && !t.untouched {
		return version, false
	}
	t.untouched = false // once: the operation may write the version next
	return t.metadata, true
}

// openStore returns the store at a place for reading; nil if nothing was ever
// written there.
func (t *transaction) openStore(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isReadOnly() {
		return t.openToRead(ctx, p)
	}
	return t.openToWrite(ctx, p)
}

// openToRead is openStore in a transaction that writes nothing: it can always
// read the metadata version, and what it has opened stays true. t.mu is held.
func (t *transaction) openToRead(ctx context.Context, p *place) (*openStore, error) {
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	read, ok := t.takeMetadataVersion()
	if !ok {
		read = t.Reader.Get(metadataVersionKey)
	}
	version, err := read.Get(ctx)
	if err != nil {
		return nil, err
	}
	s := p.known.Load()
	if s == nil || s.metadata != string(version) {
		if s, err = p.loadCommitted(ctx, t, string(version)); err != nil {
			return nil, err
		}
	}
	t.opened.add(p, s)
	return s, nil
}

// openToWrite is openStore in a transaction that writes. Once the transaction
// may have moved or removed directories, or changed a header, it must read these
// itself each time: nothing cached has its writes. t.mu is held.
func (t *transaction) openToWrite(ctx context.Context, p *place) (*openStore, error) {
	version, readable, err := t.metadataVersion(ctx)
	if err != nil {
		return nil, err
	}
	if !readable {
		return t.openUncached(ctx, p)
	}
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	s := p.known.Load()
	if s == nil || s.metadata != version {
		if s, err = p.loadCommitted(ctx, t, version); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return t.openUncached(ctx, p)
	}
	t.opened.add(p, s)
	return s, t.protectStore(s)
}

// metadataVersion returns the metadata version, and whether the transaction may
// still read it.
func (t *transaction) metadataVersion(ctx context.Context) (version string, readable bool, err error) {
	if read, ok := t.takeMetadataVersion(); ok {
		value, err := read.Get(ctx)
		return string(value), true, err
	}
	return directory.MetadataVersion(ctx, t.writer)
}

// protectStore makes the transaction conflict with every change that makes s untrue:
// of the header, and a move or removal of the directory or of one above it.
func (t *transaction) protectStore(s *openStore) error {
	if err := t.writer.AddReadConflictKey(s.header); err != nil {
		return err
	}
	return s.directory.Protect(t.writer)
}

// openUncached opens a place by reads of the transaction itself, which see its
// own writes, and conflict. The result is not remembered: it may change again.
func (t *transaction) openUncached(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.Open(ctx, t.writer, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.readStore(ctx, t.writer, d)
}
