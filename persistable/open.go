// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// openStore is a place with its directory opened and its header read. It is
// immutable.
type openStore struct {
	directory *directory.Directory
	prefix    []byte   // of the directory
	records   keyspace // of the records: ("R", type)
	header    []byte   // the key of the header: ("S", type)
	catalog   *catalog
	indexes   []index.Index // in the order of the schema
	metadata  string        // the metadata version at which it was read
	upToDate  bool          // a write need not change the header first
}

func (p *place) openStore(d *directory.Directory, prefix []byte, c *catalog) *openStore {
	s := &openStore{directory: d, prefix: prefix, catalog: c}
	s.records = keyspace{tuple.AppendString(tuple.AppendString(slices.Clone(prefix), "R"), p.typ), c.scatter()}
	s.header = s.system(p)
	for _, d := range p.definitions {
		s.indexes = append(s.indexes, index.Index{
			Definition:      d,
			Prefix:          d.AppendPrefix(slices.Clone(prefix)),
			ViolationPrefix: s.system(p, "violation", d.KeyName()),
			State:           c.state(d),
		})
	}
	next := c.clone()
	s.upToDate = !next.disableOthers(p.definitions) && !next.addSchema(p.lock)
	return s
}

// system returns a key of what the store remembers: ("S", type, names…).
func (s *openStore) system(p *place, names ...string) []byte {
	key := tuple.AppendString(tuple.AppendString(slices.Clone(s.prefix), "S"), p.typ)
	for _, name := range names {
		key = tuple.AppendString(key, name)
	}
	return key
}

// open returns the store at a place for reading, and nil if nobody has ever
// written there.
func (t *transaction) open(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer == nil {
		return t.openToRead(ctx, p)
	}
	return t.openLocked(ctx, p)
}

// openAhead opens the store at a place by open, and meanwhile lets start begin
// reads in what was last known of it, so that they do not wait for what only
// confirms it. It waits for those reads first, by settle if that is not nil: the
// confirmation has then arrived as well, and nobody is woken up for it alone. If
// the store turns out to be another one, start is called once more: what it
// returned first must not be used, and is not returned.
func openAhead[R any](ctx context.Context, t *transaction, p *place, open func(context.Context, *place) (*openStore, error),
	start func(*openStore) R, settle func(context.Context, R) R,
) (o *openStore, reads R, err error) {
	guess := p.known.Load()
	if guess != nil {
		reads = start(guess)
		t.askMetadataVersion()
		if settle != nil {
			reads = settle(ctx, reads)
		}
	}
	if o, err = open(ctx, p); err != nil || o == nil {
		var none R
		return o, none, err
	}
	if o != guess {
		reads = start(o)
	}
	return o, reads, nil
}

// settled waits for a read.
func settled(ctx context.Context, read kv.Future[[]byte]) kv.Future[[]byte] {
	return kv.Resolved(read.Get(ctx))
}

// askMetadataVersion begins the read of the metadata version, once, where
// nobody can have written it: in a transaction that does not write, and in one
// that has only begun and is a single operation's own.
func (t *transaction) askMetadataVersion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asked && (t.writer == nil || t.untouched) {
		t.asked, t.metadata = true, t.reader.Snapshot().Get(metadataVersionKey)
	}
}

// answer returns the read that was begun, if it may be used.
func (t *transaction) answer() (version kv.Future[[]byte], ok bool) {
	if !t.asked || t.writer != nil && !t.untouched {
		return version, false
	}
	t.untouched = false // once: what the operation does next may write it
	return t.metadata, true
}

var metadataVersionKey = []byte(kv.MetadataVersionKey)

// openToRead is open in a transaction that writes nothing: it can always read
// the metadata version, and what it has opened stays true.
func (t *transaction) openToRead(ctx context.Context, p *place) (*openStore, error) {
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	asked, ok := t.answer()
	if !ok {
		asked = t.reader.Get(metadataVersionKey)
	}
	version, err := asked.Get(ctx)
	if err != nil {
		return nil, err
	}
	s := p.known.Load()
	if s == nil || s.metadata != string(version) {
		if s, err = p.load(ctx, t, string(version)); err != nil {
			return nil, err
		}
	}
	t.opened.add(p, s)
	return s, nil
}

// openLocked is open in a transaction that writes. If the transaction may
// itself have moved or removed directories, or changed a header, then only it
// knows what is there, and it reads that anew each time.
func (t *transaction) openLocked(ctx context.Context, p *place) (*openStore, error) {
	version, readable, err := t.metadataVersion(ctx)
	if err != nil {
		return nil, err
	}
	if !readable {
		return t.openAnew(ctx, p)
	}
	if s, found := t.opened.find(p); found {
		return s, nil
	}
	s := p.known.Load()
	if s == nil || s.metadata != version {
		if s, err = p.load(ctx, t, version); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return t.openAnew(ctx, p)
	}
	t.opened.add(p, s)
	return s, t.protect(s)
}

// metadataVersion returns the metadata version, and whether it may be read.
func (t *transaction) metadataVersion(ctx context.Context) (version string, readable bool, err error) {
	if asked, ok := t.answer(); ok {
		value, err := asked.Get(ctx)
		return string(value), true, err
	}
	return directory.MetadataVersion(ctx, t.writer)
}

// protect makes the transaction conflict with whatever makes s untrue: a change
// of the header, and that the directory or one above it is moved or removed.
func (t *transaction) protect(s *openStore) error {
	if err := t.writer.AddReadConflictKey(s.header); err != nil {
		return err
	}
	return s.directory.Protect(t.writer)
}

// openAnew opens a place by reads of the transaction itself, which see its own
// writes, and conflict. There is nothing to remember: it may change once more.
func (t *transaction) openAnew(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.Open(ctx, t.writer, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.read(ctx, t.writer, d)
}

// load reads what is committed at the transaction's read version, in a
// transaction of its own, and caches it. The transaction's own writes, which
// may yet fail, are not seen.
func (p *place) load(ctx context.Context, t *transaction, metadata string) (*openStore, error) {
	version, err := t.reader.GetReadVersion().Get(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := p.db.engine.Begin()
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	tx.SetReadVersion(version)
	view := tx.Snapshot()
	committed, err := view.Get(metadataVersionKey).Get(ctx)
	if err != nil || string(committed) != metadata {
		return nil, err
	}
	d, err := p.db.dirs.OpenRead(ctx, view, p.path, p.expects...)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := p.read(ctx, view, d)
	if err != nil || s == nil {
		return nil, err
	}
	s.metadata = metadata
	p.known.Store(s)
	return s, nil
}

// read reads the header of the store in a directory; nil if there is none. It
// refuses a store with whose schema the program does not agree: no record or
// entry has been read by then, and none written.
func (p *place) read(ctx context.Context, reader kv.ReadTransaction, d *directory.Directory) (*openStore, error) {
	prefix, err := d.Prefix()
	if err != nil {
		return nil, &DirectoryError{Type: p.typ, Path: p.path, Reason: err.Error()}
	}
	probe := openStore{prefix: prefix}
	key := probe.system(p)
	value, err := reader.Get(key).Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	c, err := decodeCatalog(value)
	if err != nil {
		return nil, recordError(p.typ, "", key, err)
	}
	if err := p.checkSchema(c); err != nil {
		return nil, err
	}
	return p.openStore(d, prefix, c), nil
}

// openForWriting returns the store at a place, creating directory and header
// where they are missing, and the header's entries that this program adds.
func (t *transaction) openForWriting(ctx context.Context, p *place) (*openStore, error) {
	if t.writer == nil {
		return nil, ErrReadOnly
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openLocked(ctx, p)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return t.create(ctx, p)
	}
	return t.bringUpToDate(ctx, p, s)
}

// openForDeleting is openForWriting, but where there is nothing it creates
// nothing and returns nil.
func (t *transaction) openForDeleting(ctx context.Context, p *place) (*openStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.openLocked(ctx, p)
	if err != nil || s == nil {
		return nil, err
	}
	return t.bringUpToDate(ctx, p, s)
}

// bringUpToDate changes the header where this program's writes would make it
// untrue.
func (t *transaction) bringUpToDate(ctx context.Context, p *place, s *openStore) (*openStore, error) {
	if s.upToDate {
		return s, nil
	}
	next := s.catalog.clone()
	next.disableOthers(p.definitions)
	next.addSchema(p.lock)
	return t.setCatalog(ctx, p, s, next)
}

// create creates the directory and the header of a place. Nobody can have
// cached that they are missing, so the metadata version stays.
func (t *transaction) create(ctx context.Context, p *place) (*openStore, error) {
	d, err := p.db.options.Layer.CreateOrOpen(ctx, t.writer, p.path, p.expects...)
	if err != nil {
		return nil, err
	}
	s, err := p.read(ctx, t.writer, d)
	if err != nil {
		return nil, err
	}
	if s == nil {
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		if s, err = t.writeCatalog(p, d, prefix, newCatalog(p)); err != nil {
			return nil, err
		}
	}
	t.opened.add(p, s)
	return s, nil
}

// setCatalog changes the header of a store, and tells all processes that what
// they cached of stores is void once the transaction commits.
func (t *transaction) setCatalog(ctx context.Context, p *place, was *openStore, c *catalog) (*openStore, error) {
	s, err := t.writeCatalog(p, was.directory, was.prefix, c)
	if err != nil {
		return nil, err
	}
	return s, directory.Invalidate(ctx, t.writer)
}

func (t *transaction) writeCatalog(p *place, d *directory.Directory, prefix []byte, c *catalog) (*openStore, error) {
	value, err := c.encode()
	if err != nil {
		return nil, err
	}
	s := p.openStore(d, prefix, c)
	t.writer.Set(s.header, value)
	return s, nil
}
