// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// systemKeys is the end of the keys that programs may use.
const systemKeys = "\xff"

// place is where the keys of a verb are: in a directory, or anywhere.
type place struct {
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

// openPlace opens the directory of --dir; "" is anywhere.
func openPlace(ctx context.Context, cmd *cobra.Command, db *persistable.DB, dir string) (*place, error) {
	p := &place{db: db, layer: db.Layer()}
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
func (p *place) keys(s span) kv.KeyRange {
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
func (p *place) locate(ctx context.Context, key []byte) (*directory.Directory, error) {
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
func (p *place) inLast(key []byte) bool {
	return p.last != nil && bytes.Compare(key, p.lastRange.Begin) >= 0 && bytes.Compare(key, p.lastRange.End) < 0
}

// insideLast reports whether a range belongs to the directory of the key before.
func (p *place) insideLast(r kv.KeyRange) bool {
	return p.inLast(r.Begin) && bytes.Compare(r.End, p.lastRange.End) <= 0
}

// show returns the pair as it is written, with the key relative to its directory.
func (p *place) show(ctx context.Context, found kv.KeyValue, o showOptions) (pair, error) {
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
