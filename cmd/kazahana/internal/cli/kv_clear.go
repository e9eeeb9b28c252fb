// SPDX-License-Identifier: Apache-2.0

package cli

import (
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

func clearCommand(c *shell.Console) *cobra.Command {
	var (
		f      rangeFlags
		dir    string
		system bool
	)
	cmd := &cobra.Command{
		Use: "clear [KEY]", Short: "Clear a key, or a range of keys", Args: shell.Arguments(cobra.MaximumNArgs(1)),
		Long: `Clear a key, or with --prefix, --from or --to a range of keys, of a directory or of the database. The
command shows how many keys there are with how many bytes, and asks. Clearing what is not there is no
error.

The keys of records and indexes belong together: a record is removed by kazahana record rm, a directory by
kazahana dir rm. Without --system the command refuses the keys that the database itself needs: those of
the directory kazahana and below it, where leases of machine ids are, those of the directory layer,
without which no directory is found again, and the headers of stores, without which no record is. Without
it the command also refuses the keys of a locked tenant, which an export or a copy may be reading. It always
refuses a directory that was moved or removed since it was shown and, in a range that is not in one
directory, keys that were made or removed since.
` + aboutKeys,
		Example: "  kazahana kv clear '(\"cache\", 7)' --dir app --db data\n  kazahana kv clear --prefix '(\"cache\")' --dir app --db data --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := parseClear(cmd, args, &f)
			if err != nil {
				return err
			}
			var (
				p    *keyPlace
				done clearResult
			)
			err = database.Read(cmd, func(ctx context.Context, db *persistable.DB) error {
				if p, err = openKeyPlace(ctx, cmd, db, dir); err != nil {
					return err
				}
				if !system {
					err = p.protect(ctx, p.keys(r))
				}
				if err == nil {
					done, err = countKeys(ctx, p, p.keys(r), system)
				}
				if err != nil || done.Keys == 0 {
					return err
				}
				return c.Confirm(cmd, done.describe(), "Clear them?")
			})
			if err != nil {
				return err
			}
			if done.Keys == 0 {
				return c.Write(done)
			}
			return database.WriteKeys(cmd, func(ctx context.Context, db kv.Database) error {
				if err := p.clear(ctx, db, p.keys(r), done, system); err != nil {
					return err
				}
				return c.Write(done)
			})
		},
	}
	f.add(cmd)
	addDir(cmd, &dir)
	cmd.Flags().BoolVar(&system, systemFlag, false, "also clear keys that the database itself needs, and those of locked tenants")
	shell.AddYes(cmd)
	return cmd
}

// parseClear returns the range to clear: there is no default, which would be all keys.
func parseClear(cmd *cobra.Command, args []string, f *rangeFlags) (span, error) {
	switch {
	case len(args) == 1 && f.given(cmd):
		return span{}, shell.Misuse(cmd, errors.New("give either a key or --prefix, --from and --to"))
	case len(args) == 1:
		key, err := database.ParseKey(args[0])
		if err != nil {
			return span{}, shell.Invalid(err)
		}
		return span{from: append([]byte{}, key...), to: kv.Successor(key)}, nil
	case f.given(cmd):
		return f.parseBounded(cmd)
	}
	return span{}, shell.Misuse(cmd, errors.New("say what to clear: a key, --prefix, --from or --to"))
}

// mostKeysCounted and mostCountedBytes bound what is counted before it is cleared.
const (
	mostKeysCounted  = 100_000
	mostCountedBytes = 100_000_000
	// mostChecked is how many keys the transaction that clears compares with those that were shown,
	// of a range that is not in one directory.
	mostChecked = 10_000
)

// countKeys reads what is in a range. Without system it refuses keys of the directory
// layer.
func countKeys(ctx context.Context, p *keyPlace, r kv.KeyRange, system bool) (n clearResult, err error) {
	if string(r.Begin) >= string(r.End) {
		return n, shell.Invalid(fmt.Errorf("the range from %s to %s is empty, or of keys of the system", database.FormatKey(r.Begin), database.FormatKey(r.End)))
	}
	var first, last kv.KeyValue
	print := newFingerprint()
	err = eachPair(ctx, p.db.Engine(), r, 0, false, func(found kv.KeyValue) error {
		if n.Keys == mostKeysCounted || n.Bytes >= mostCountedBytes {
			n.AtLeast = true
			return errCounted
		}
		if n.Keys++; n.Keys == 1 {
			first = found
		}
		n.Bytes += int64(len(found.Key) + len(found.Value))
		last = found
		print.add(found.Key)
		if system {
			return nil
		}
		if err := p.protectNodes(ctx, found.Key); err != nil {
			return err
		}
		n.note(p.last)
		return nil
	})
	n.print = print.Sum(nil)
	if errors.Is(err, errCounted) {
		err = n.estimate(ctx, p, r, system)
	}
	if err == nil && n.Keys > 0 {
		err = n.locate(ctx, p, first.Key, r, system)
	}
	if err != nil || n.Keys == 0 {
		return n, err
	}
	if n.first, err = p.show(ctx, first, showOptions{}); err == nil {
		n.last, err = p.show(ctx, last, showOptions{})
	}
	return n, err
}

// note notes the directory of a key.
func (n *clearResult) note(d *directory.Directory) {
	if last := len(n.directories) - 1; d != nil && (last < 0 || n.directories[last] != d) {
		n.directories = append(n.directories, d)
	}
}

// locate notes the directory in which all of a range is. It refuses headers of stores, keys of locked
// tenants, and more keys than can be checked again.
func (n *clearResult) locate(ctx context.Context, p *keyPlace, first []byte, r kv.KeyRange, system bool) error {
	d, err := p.locate(ctx, first)
	if err != nil {
		return err
	}
	if d != nil && !d.IsPartition() && p.insideLast(r) {
		n.inside, n.directories = d, []*directory.Directory{d}
	}
	if system {
		return nil
	}
	if n.inside == nil && n.Keys > mostChecked {
		return errWide
	}
	return p.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error { return p.protectStores(ctx, tx, r, n.directories) })
}

// errWide is the error of a range that cannot be compared with what was shown.
var errWide = fmt.Errorf("the range has more keys than are checked one by one, and is not in one directory: clear it in parts, or give --%s if all may go", systemFlag)

// errCounted ends the count of a range that holds more.
var errCounted = errors.New("enough keys were counted")

// estimate sets the size of a range that was not counted to the end. Such a range must
// be in one directory, as its other keys were not checked.
func (n *clearResult) estimate(ctx context.Context, p *keyPlace, r kv.KeyRange, system bool) error {
	if !system && p.path == nil && !p.insideLast(r) {
		return errWide
	}
	return p.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) (err error) {
		n.Bytes, err = tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
		return err
	})
}

// clearResult is what was in a range that was cleared.
type clearResult struct {
	Keys    int64 `json:"keys"`
	Bytes   int64 `json:"bytes"`             // of keys and values; estimated if the keys were not counted to the end
	AtLeast bool  `json:"atLeast,omitempty"` // there were more keys than were counted

	first, last pair
	print       []byte                 // of the keys, if they were counted to the end
	directories []*directory.Directory // that have keys of the range
	inside      *directory.Directory   // that has all of the range; nil: there is none
}

func (n clearResult) describe() []string {
	lines := []string{n.text("", " in all")}
	for i, p := range []pair{n.first, n.last} {
		if i == 1 && n.Keys == 1 {
			break
		}
		key := p.OwnTuple
		if key == "" {
			key = p.own
		}
		text := "  " + []string{"first", "last"}[i] + " " + key
		if p.Directory != "" {
			text += " in " + p.Directory
		}
		lines = append(lines, text)
	}
	return lines
}

func (n clearResult) text(verb, end string) string {
	most := ""
	if n.AtLeast {
		most = "more than "
	}
	return fmt.Sprintf("%s%s%s, %s%s", verb, most, database.Plural(n.Keys, "key", "keys"), shell.Size(n.Bytes), end)
}

// Lines implements [shell.Result].
func (n clearResult) Lines() []string { return []string{n.text("cleared ", "")} }
