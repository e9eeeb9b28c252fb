// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// systemKeys is the end of the keys that programs may use.
const systemKeys = "\xff"

// keyPlace is where the keys of a verb are: in a directory, or anywhere.
type keyPlace struct {
	db     *persistable.DB
	layer  *directory.Layer
	path   []string // nil: anywhere
	prefix []byte   // of the directory

	last      *directory.Directory // that of the key that was looked up last
	lastRange kv.KeyRange
	unknown   bool // the directories cannot be read
}

// dirFlag names the directory of the keys of a verb.
const dirFlag = "dir"

// addDir adds the flag --dir.
func addDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, dirFlag, "", "`path` of the directory of the keys; without, keys are those of the database")
	_ = cmd.RegisterFlagCompletionFunc(dirFlag, database.CompletePaths) // the flag is there
}

// openKeyPlace opens the directory of --dir; "" is anywhere.
func openKeyPlace(ctx context.Context, cmd *cobra.Command, db *persistable.DB, dir string) (*keyPlace, error) {
	p := &keyPlace{db: db, layer: db.Layer()}
	switch f := cmd.Flags().Lookup(dirFlag); {
	case f != nil && f.Changed && dir == "":
		return nil, shell.Misuse(cmd, fmt.Errorf("--%s is empty: name a directory, or leave the flag out for the keys of the database", dirFlag))
	case dir == "":
		return p, nil
	}
	path, err := database.ParsePath(cmd, dir)
	if err != nil {
		return nil, err
	}
	d, err := database.OpenDirectory(ctx, db, path)
	if err != nil {
		return nil, err
	}
	p.path = path
	if p.prefix, err = d.Prefix(); errors.Is(err, directory.ErrPartition) {
		return nil, shell.Invalid(err)
	}
	p.last, p.lastRange = d, d.Reserve()
	return p, err
}

// span is a part of a place: the keys with a prefix, or those between two keys.
type span struct {
	prefix   []byte
	from, to []byte // without a prefix; a nil to is the end of the place
}

// keys returns a part of the place as a range of keys of the database.
func (p *keyPlace) keys(s span) kv.KeyRange {
	r := kv.PrefixRange(append(bytes.Clone(p.prefix), s.prefix...))
	if s.from != nil {
		r.Begin = append(bytes.Clone(p.prefix), s.from...)
	}
	if s.to != nil {
		r.End = append(bytes.Clone(p.prefix), s.to...)
	}
	if bounded := s.to != nil; r.End == nil && !bounded || string(r.End) > systemKeys {
		r.End = []byte(systemKeys)
	}
	return r
}

// locate returns the directory to which a key of the database belongs; nil for none.
func (p *keyPlace) locate(ctx context.Context, key []byte) (*directory.Directory, error) {
	if p.unknown || p.inLast(key) {
		return p.last, nil
	}
	d, err := p.db.Layer().Containing(ctx, p.db.Engine(), key)
	switch {
	case errors.Is(err, directory.ErrNotFound):
		return nil, nil
	case errors.Is(err, directory.ErrCorrupt), errors.Is(err, directory.ErrVersion):
		p.unknown = true // kazahana doctor tells; the keys can be shown
		return nil, nil
	case err != nil:
		return nil, err
	}
	if !d.IsPartition() {
		p.last, p.lastRange = d, d.Reserve()
	}
	return d, nil
}

// inLast reports whether a key belongs to the directory of the key before.
func (p *keyPlace) inLast(key []byte) bool {
	return p.last != nil && bytes.Compare(key, p.lastRange.Begin) >= 0 && bytes.Compare(key, p.lastRange.End) < 0
}

// insideLast reports whether a range belongs to the directory of the key before.
func (p *keyPlace) insideLast(r kv.KeyRange) bool {
	return p.inLast(r.Begin) && bytes.Compare(r.End, p.lastRange.End) <= 0
}

// show returns the pair as it is written, with the key relative to its directory.
func (p *keyPlace) show(ctx context.Context, found kv.KeyValue, o showOptions) (pair, error) {
	if p.path != nil {
		return newPair(found.Key, found.Key[len(p.prefix):], found.Value, database.FormatPath(p.path), o), nil
	}
	d, err := p.locate(ctx, found.Key)
	if err != nil || d == nil {
		return newPair(found.Key, found.Key, found.Value, "", o), err
	}
	own := found.Key
	if !d.IsPartition() {
		own = found.Key[len(d.Reserve().Begin):]
	}
	return newPair(found.Key, own, found.Value, database.FormatPath(d.Path()), o), nil
}

// systemFlag allows to clear what the database itself needs.
const systemFlag = "system"

// nodeKeys is the prefix of the directory layer's own keys.
const nodeKeys = "\xfe"

// protect refuses a range with keys that the database itself needs.
func (p *keyPlace) protect(ctx context.Context, r kv.KeyRange) error {
	switch {
	case p.path != nil && p.db.HoldsSystem(p.path...):
		return protectedError(database.QuotePath(p.path) + " holds what the database itself needs")
	case p.path != nil:
		return nil
	case meet(r, kv.PrefixRange([]byte(nodeKeys))):
		return protectedError(database.FormatKey([]byte(nodeKeys)) + " begins the keys of the directory layer")
	}
	return p.protectSystem(ctx, r)
}

// protectSystem refuses a range of the database that meets a system directory.
func (p *keyPlace) protectSystem(ctx context.Context, r kv.KeyRange) error {
	names, err := p.layer.List(ctx, p.db.Engine(), nil)
	if err != nil {
		return ignoreDamage(err)
	}
	for _, name := range names {
		if !p.db.HoldsSystem(name) {
			continue
		}
		top, err := database.Survey{DB: p.db, Depth: -1}.Read(ctx, name)
		if err != nil {
			return ignoreDamage(err)
		}
		for n := range top.All {
			if p.db.HoldsSystem(n.Path...) && meet(r, kv.PrefixRange(n.Prefix)) {
				return protectedError("the range has keys of " + database.QuotePath(n.Path) + ", which the database itself needs")
			}
		}
	}
	return nil
}

// protectNodes refuses a key of the directory layer in a partition: one that belongs to
// the partition and to none of its directories.
func (p *keyPlace) protectNodes(ctx context.Context, key []byte) error {
	if p.path != nil {
		return nil
	}
	d, err := p.locate(ctx, key)
	if err != nil || d == nil || !d.IsPartition() {
		return err
	}
	return protectedError("the range has keys of the directory layer in " + database.QuotePath(d.Path()))
}

// protectedError says that keys are cleared only with --system.
func protectedError(reason string) error {
	return shell.Invalid(fmt.Errorf("%s: nothing was changed; with --%s such keys are cleared", reason, systemFlag))
}

// ignoreDamage drops the error of directories that cannot be read: such a database is
// repaired by clearing keys.
func ignoreDamage(err error) error {
	if errors.Is(err, directory.ErrCorrupt) || errors.Is(err, directory.ErrVersion) || errors.Is(err, directory.ErrNotFound) {
		return nil
	}
	return err
}

// meet reports whether two ranges have keys in common.
func meet(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}

// fingerprint tells whether the keys of a range are those that were shown.
type fingerprint struct{ hash.Hash }

func newFingerprint() fingerprint { return fingerprint{sha256.New()} }

func (f fingerprint) add(key []byte) {
	f.Write(binary.AppendUvarint(nil, uint64(len(key)))) // it does not fail
	f.Write(key)
}

// clear clears a range of keys of the place that was counted and shown, unless it is not what was
// shown: its directory was moved or removed, or, of a range that is not in one directory, keys were made
// or removed. Programs that run read their directories and the headers of their stores again
// afterwards: those may be among the keys.
func (p *keyPlace) clear(ctx context.Context, db kv.Database, r kv.KeyRange, shown clearResult, system bool) error {
	var sent bool // an attempt may have cleared the range, and its acknowledgement was lost
	return db.Transact(ctx, func(tx kv.Transaction) error {
		err := p.checkShown(ctx, tx, r, shown, sent)
		if err == nil && !system {
			err = p.protectStores(ctx, tx, r, shown.directories)
		}
		if err != nil {
			return err
		}
		sent = true
		tx.ClearRange(r)
		return directory.Invalidate(ctx, tx)
	})
}

// checkShown returns an error unless a range is as it was shown, or it is empty because an earlier
// attempt may have cleared it.
func (p *keyPlace) checkShown(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange, shown clearResult, sent bool) error {
	switch {
	case shown.inside != nil:
		d, err := p.layer.Open(ctx, tx, shown.inside.Path())
		if err != nil || !bytes.Equal(d.Reserve().Begin, shown.inside.Reserve().Begin) {
			return errors.Join(fmt.Errorf("%s was moved or removed while you were asked: nothing was changed", database.QuotePath(shown.inside.Path())), err)
		}
	case shown.Keys <= mostChecked && !shown.AtLeast:
		now, empty := newFingerprint(), true
		for found, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: mostChecked + 1, Mode: kv.ModeWantAll}).All(ctx) {
			if err != nil {
				return err
			}
			now.add(found.Key)
			empty = false
		}
		if !(sent && empty) && !bytes.Equal(now.Sum(nil), shown.print) {
			return errors.New("keys were made or removed in the range since it was shown: nothing was changed; look again")
		}
	}
	return nil
}

// protectStores refuses a range in these directories if one of them is in a locked tenant, or if the range
// has the header of a store.
func (p *keyPlace) protectStores(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange, directories []*directory.Directory) error {
	if err := tenants.CheckUnlocked(ctx, tx, directories...); err != nil {
		return fmt.Errorf("%w: nothing was changed; see kazahana tenant unlock, or give --%s if a program that runs under the lock may find other keys than it counts on", err, systemFlag)
	}
	for _, d := range directories {
		prefix := d.Reserve().Begin
		found, err := headers.Read(ctx, tx, prefix)
		if err != nil {
			return err
		}
		for _, h := range found {
			key := append(bytes.Clone(prefix), headers.Key(h.Type)...)
			if meet(r, kv.KeyRange{Begin: key, End: kv.Successor(key)}) {
				return protectedError(fmt.Sprintf("the range has the header of the store of %s in %s, without which programs take it for an empty one", h.Type, database.QuotePath(d.Path())))
			}
		}
	}
	return nil
}
