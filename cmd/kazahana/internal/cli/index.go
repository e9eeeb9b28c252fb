// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

const aboutIndexStores = `
PATH is the directory of the records. Where it has records of several types, --type says which. An index
has the name that "index list" shows.
` + database.AboutPaths + "\n" + database.About

// indexCommand returns kazahana index.
func indexCommand(c *shell.Console) *cobra.Command {
	group := shell.Group("index", "List, build, check, mend and drop the indexes of records",
		listIndexesCommand(c), buildIndexCommand(c), violationsCommand(c), verifyIndexCommand(c), repairCommand(c), dropIndexCommand(c))
	for _, cmd := range group.Commands() {
		database.AddTypeFlag(cmd)
	}
	return group
}

// indexTarget is the store that a verb is about.
type indexTarget struct {
	*dynamic.Store
	path   []string
	schema *dynamic.Schema
}

// openIndexTarget opens the store that a verb's first argument names.
func openIndexTarget(ctx context.Context, cmd *cobra.Command, db *persistable.DB, text string) (*indexTarget, error) {
	path, err := database.ParsePath(cmd, text)
	if err != nil {
		return nil, err
	}
	s, err := database.OpenStore(ctx, cmd, db, text)
	if err != nil {
		return nil, err
	}
	return &indexTarget{s, path, s.Schema()}, nil
}

// find returns the index with that name in keys. No other name is taken: a verb that is repeated
// must not reach another index.
func (t *indexTarget) find(name string) (ix dynamic.Index, err error) {
	var names []string
	for _, ix := range t.schema.Indexes {
		if ix.KeyName == name {
			return ix, nil
		}
		names = append(names, ix.KeyName)
	}
	return ix, database.Missing(fmt.Errorf("%s has no index %s; it has %s",
		t.where(), shell.Word(name), cmp.Or(strings.Join(names, ", "), "none")))
}

// where names the store for messages.
func (t *indexTarget) where() string { return t.schema.Type + " in " + database.QuotePath(t.path) }

// arguments name the store on a command line.
func (t *indexTarget) arguments() string {
	return database.QuotePath(t.path) + " --type " + shell.Argument(t.schema.Type)
}

// over opens the database and the store of a verb's first argument, and calls do.
func over(cmd *cobra.Command, path string, writes bool, do func(context.Context, *persistable.DB, *indexTarget) error) error {
	return database.Open(cmd, writes, func(ctx context.Context, db *persistable.DB) error {
		t, err := openIndexTarget(ctx, cmd, db, path)
		if err != nil {
			return err
		}
		return do(ctx, db, t)
	})
}

// overShown opens a store that was shown for writing, and calls do. It refuses another directory that
// was put at the path since.
func overShown(cmd *cobra.Command, shown *indexTarget, do func(context.Context, *indexTarget) error) error {
	return database.WriteShownStore(cmd, shown.Store, func(ctx context.Context, s *dynamic.Store) error {
		return do(ctx, &indexTarget{s, shown.path, s.Schema()})
	})
}

// completeIndex completes the path, and then the name of an index.
func completeIndex(cmd *cobra.Command, args []string, word string) (words []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) != 1 {
		return database.CompletePath(cmd, args, word)
	}
	return indexNames(cmd, args[0], func(dynamic.Index) bool { return true }), cobra.ShellCompDirectiveNoFileComp
}

// completeOrder completes the flag that names the index in the order of which records are shown, if
// the path comes before it.
func completeOrder(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion, directive cobra.ShellCompDirective) {
	if len(args) == 1 {
		words = indexNames(cmd, args[0], func(ix dynamic.Index) bool { return ix.Kind == "" })
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// indexNames returns the names of the indexes of a store that are wanted, for a completion.
func indexNames(cmd *cobra.Command, path string, wanted func(dynamic.Index) bool) (words []cobra.Completion) {
	database.Complete(cmd, func(ctx context.Context, db *persistable.DB) error {
		t, err := openIndexTarget(ctx, cmd, db, path)
		if err != nil {
			return err
		}
		for _, ix := range t.schema.Indexes {
			if wanted(ix) {
				words = append(words, ix.KeyName)
			}
		}
		return nil
	})
	return words
}

func listIndexesCommand(c *shell.Console) *cobra.Command {
	return &cobra.Command{
		Use: "list [PATH]", Short: "Show the indexes of all stores in a directory and below", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Show the indexes of the stores in a directory and below it, without PATH of all: what they keep, their
state (readable; building: writes maintain it, and queries are refused; disabled), their size, how far
the build of a store has come, and why an index needs the Go code of its type, if it does.

The entries of an index below about a megabyte are counted. The size of a larger one is estimated from the engine's
estimate and its first thousand entries.
` + database.AboutPaths + "\n" + database.About,
		Example:           "  kazahana index list --db data\n  kazahana index list tenants/tenant-1/orders --db data --json",
		ValidArgsFunction: database.CompletePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			var path []string
			var err error
			if len(args) > 0 {
				if path, err = database.ParsePath(cmd, args[0]); err != nil {
					return err
				}
			}
			return database.Read(cmd, func(ctx context.Context, db *persistable.DB) error { return listIndexes(ctx, cmd, c, db, path) })
		},
	}
}

func listIndexes(ctx context.Context, cmd *cobra.Command, c *shell.Console, db *persistable.DB, path []string) error {
	typ, err := database.TypeFlag(cmd)
	if err != nil {
		return err
	}
	var faults []error // of stores that cannot be read
	for at, err := range dynamic.Stores(ctx, db, path...) {
		if errors.Is(err, persistable.ErrNotFound) {
			return database.MissingDirectory(ctx, db, path)
		}
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		if typ != "" && at.Type != typ {
			continue
		}
		if err := listStore(ctx, c, db, at); err != nil {
			faults = append(faults, fmt.Errorf("%s in %s: %w", at.Type, database.QuotePath(at.Path), err))
		}
		if len(faults) > 0 && (ctx.Err() != nil || kv.CodeOf(faults[len(faults)-1]) != 0) {
			break // the fault is not that of a store
		}
	}
	return errors.Join(faults...)
}

// listStore shows the indexes of one store.
func listStore(ctx context.Context, c *shell.Console, db *persistable.DB, at dynamic.Location) error {
	s, err := dynamic.Open(ctx, db, at.Path, at.Type)
	if err != nil {
		return err
	}
	progress := ""
	if p, err := s.Indexes().Progress(ctx); err == nil && len(p.Indexes) > 0 {
		progress = p.String()
	}
	for _, ix := range s.Schema().Indexes {
		d := newIndexDescription(at, ix)
		if ix.State == index.Building {
			d.Progress = progress
		}
		if d.indexSize, err = measureIndex(ctx, db, at.Path, ix.KeyName); err != nil {
			return err
		}
		if err := c.Write(d); err != nil {
			return err
		}
	}
	return nil
}

// indexDescription is what is known of an index.
type indexDescription struct {
	Path       string   `json:"path"`
	Type       string   `json:"type"`
	Name       string   `json:"name"`
	KeyName    string   `json:"keyName"`
	State      string   `json:"state"`
	Kind       string   `json:"kind"` // index or unique, or the word of another kind, such as count
	Fields     []string `json:"fields,omitempty"`
	Descending []string `json:"descending,omitempty"`
	Folded     []string `json:"folded,omitempty"`
	Of         string   `json:"of,omitempty"`
	Copies     []string `json:"copies,omitempty"` // fields; "*" for the record
	Where      string   `json:"where,omitempty"`
	Scatter    int      `json:"scatter,omitempty"`
	Layout     string   `json:"layout"`
	indexSize
	Progress string `json:"progress,omitempty"` // of the build of the store
	Foreign  string `json:"needsGoCode,omitempty"`
}

func newIndexDescription(at dynamic.Location, ix dynamic.Index) indexDescription {
	d := indexDescription{
		Path: database.FormatPath(at.Path), Type: at.Type, Name: ix.Name, KeyName: ix.KeyName, State: ix.State.String(), Kind: indexKindOf(ix),
		Fields: ix.Fields, Descending: ix.Descending, Folded: ix.Folded, Of: ix.Of, Copies: ix.CoverFields, Where: ix.Where, Scatter: ix.Scatter,
		Layout: ix.Layout, Foreign: ix.Foreign,
	}
	if ix.Cover {
		d.Copies = []string{"*"}
	}
	return d
}

// indexKindOf names the kind of an index as the verbs do.
func indexKindOf(ix dynamic.Index) string {
	if ix.Unique {
		return "unique"
	}
	if ix.Kind == "" {
		return "index"
	}
	return ix.Kind
}

// keeps says what the index keeps: its fields in the order of its keys, and its options.
func (d indexDescription) keeps() string {
	var fields []string
	for _, f := range d.Fields {
		text := f
		if slices.Contains(d.Folded, f) {
			text += " folded"
		}
		if slices.Contains(d.Descending, f) {
			text += " desc"
		}
		fields = append(fields, text)
	}
	text := strings.Join(fields, ", ")
	add := func(set bool, format string, args ...any) {
		if set {
			text = strings.TrimSpace(text + " " + fmt.Sprintf(format, args...))
		}
	}
	add(d.Of != "", "of %s", d.Of)
	add(d.Where != "", "where %s", d.Where)
	add(len(d.Copies) > 0, "with copies of %s", strings.Replace(strings.Join(d.Copies, ", "), "*", "the record", 1))
	add(d.Scatter > 0, "over %d shards", d.Scatter)
	return text
}

// Lines implements [shell.Result].
func (d indexDescription) Lines() []string {
	pairs := []any{"index", fmt.Sprintf("%s of %s in %s", shell.Word(d.KeyName), d.Type, d.Path), "state", d.State, "kind", d.Kind}
	for _, line := range []struct{ name, text string }{
		{"keeps", cmp.Or(d.keeps(), "all records")}, {"size", d.indexSize.String()}, {"layout", d.Layout}, {"build", d.Progress}, {"needs code", d.Foreign},
	} {
		if line.text != "" {
			pairs = append(pairs, line.name, line.text)
		}
	}
	return append(shell.Fields(pairs...), "")
}

// The engine estimates the bytes of a range from a random sample of its keys: below about a
// megabyte that can be wrong by a factor of ten. So an index with a smaller estimate is
// counted, up to mostEntriesCounted entries. Of a larger one, sampleSize entries tell how large
// one is.
const (
	smallest           = 1 << 20
	mostEntriesCounted = 20_000
	sampleSize         = 1000
)

// indexSize is how much an index has.
type indexSize struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`           // keys and values
	Exact   bool  `json:"exact,omitempty"` // all was read; else it is an estimate
}

// String says the size in a line.
func (s indexSize) String() string {
	about := "about "
	if s.Exact {
		about = ""
	}
	return fmt.Sprintf("%s%d entries, %d bytes", about, s.Entries, s.Bytes)
}

// measureIndex returns the size of an index. The keys that it has besides its entries, such as
// the counts of ranks, are among the bytes, not among the entries.
func measureIndex(ctx context.Context, db *persistable.DB, path []string, keyName string) (s indexSize, err error) {
	d, err := database.OpenDirectory(ctx, db, path)
	if err != nil {
		return s, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return s, err
	}
	err = db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		s, err = sizeOfRange(ctx, tx, indexRange(prefix, "I", keyName))
		if err != nil {
			return err
		}
		for _, letter := range index.Letters() {
			more, err := sizeOfRange(ctx, tx, indexRange(prefix, letter, keyName))
			if err != nil {
				return err
			}
			s.Bytes, s.Exact = s.Bytes+more.Bytes, s.Exact && more.Exact
		}
		return nil
	})
	return s, err
}

// sizeOfRange returns the size of a range.
func sizeOfRange(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange) (s indexSize, err error) {
	estimate, err := tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if err != nil {
		return s, err
	}
	limit := sampleSize
	if estimate < smallest {
		limit = mostEntriesCounted
	}
	for p, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return s, err
		}
		s.Entries, s.Bytes = s.Entries+1, s.Bytes+int64(len(p.Key)+len(p.Value))
	}
	if s.Exact = s.Entries < int64(limit); !s.Exact && estimate > s.Bytes {
		s.Entries, s.Bytes = int64(float64(estimate)/float64(s.Bytes)*float64(s.Entries)), estimate
	}
	return s, nil
}

// indexRange is the range of an index's keys that begin with a letter of the layout.
func indexRange(directory []byte, letter, keyName string) kv.KeyRange {
	return kv.PrefixRange(tuple.AppendString(tuple.AppendString(slices.Clone(directory), letter), keyName))
}

func dropIndexCommand(c *shell.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "drop PATH INDEX", Short: "Remove an index, with its entries", Args: shell.Arguments(cobra.ExactArgs(2)),
		Long: `Remove an index from a store: its entries, and its place in the store's header, which ends its maintenance
by all programs. Records stay as they are. A program that has the index in its code finds it as one that
was never built, and refuses queries on it; "index build" by that program builds it again.
` + aboutIndexStores,
		Example:           "  kazahana index drop tenants/tenant-1/orders Order_Editor --db data",
		ValidArgsFunction: completeIndex,
		RunE: func(cmd *cobra.Command, args []string) error {
			var (
				store *indexTarget
				shown dropResult
			)
			err := over(cmd, args[0], false, func(ctx context.Context, db *persistable.DB, t *indexTarget) (err error) {
				store = t
				if shown, err = examineDrop(ctx, db, t, args[1]); err != nil {
					return err
				}
				return c.Confirm(cmd, []string{shown.question}, "Remove it?")
			})
			if err != nil {
				return err
			}
			return overShown(cmd, store, func(ctx context.Context, t *indexTarget) error {
				if err := t.Drop(ctx, shown.Name); err != nil {
					return err
				}
				return c.Write(shown)
			})
		},
	}
	shell.AddYes(cmd)
	return cmd
}

// examineDrop returns what the removal of an index removes.
func examineDrop(ctx context.Context, db *persistable.DB, t *indexTarget, name string) (r dropResult, err error) {
	ix, err := t.find(name)
	if err != nil {
		return r, err
	}
	s, err := measureIndex(ctx, db, t.path, ix.KeyName)
	question := fmt.Sprintf("%s of %s, %s: %v", ix.KeyName, t.where(), ix.State, s)
	return dropResult{database.FormatPath(t.path), t.schema.Type, ix.KeyName, s, question}, err
}

// dropResult says what was removed.
type dropResult struct {
	Path string `json:"path"`
	Type string `json:"type"`
	Name string `json:"removed"` // in keys
	indexSize

	question string // what the verb shows before it removes the index
}

// Lines implements [shell.Result].
func (r dropResult) Lines() []string {
	return []string{fmt.Sprintf("removed %s of %s in %s: %v", r.Name, r.Type, r.Path, r.indexSize)}
}
